import { inspect } from "node:util";
import { endProcess } from "./end-process.ts";
import type { Mask } from "./mask.ts";

/**
 * Ends the process for an error that nobody caught, or a promise that nobody looked at, as Node does: with its trace on standard error and status
 * 1. But through the mask, because traces and causes quote URLs, headers and requests.
 */
export function maskUncaughtErrors(mask: Mask): void {
  process.on("uncaughtException", (error: unknown) => {
    process.stderr.write(`${mask.text(inspect(error))}\n`);
    void endProcess(1);
  });
}
