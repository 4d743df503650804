import { pino, type DestinationStream, type Logger } from "pino";

import { createBoundedOutput, outlivesReader } from "./bounded-output.ts";
import { rewriting } from "./log-format.ts";
import type { Mask } from "./mask.ts";

export type { Logger } from "pino";

/** Keys whose values never reach the log, at the top level and one and two levels down. */
const neverLogged = ["privateKey", "signature", "authorization", "secret", "password", "mnemonic", "rawTransaction"];

/**
 * Creates the log of a service: one JSON object a line, on standard output unless there is a `destination`, with the service's
 * name, no host name or process id; `pretty` makes other lines of them. What `mask` knows is in no line. A reader of standard output that is slow or gone holds nothing up: see
 * {@link createBoundedOutput}.
 */
export function createLog(
  options: Readonly<{
    service: string;
    level: string;
    mask?: Mask;
    pretty?: ((line: string) => string) | undefined;
  }>,
  destination?: DestinationStream,
): Logger {
  const { mask, pretty, service } = options;
  const settings = {
    level: options.level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: neverLogged.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: "[secret]" },
  };
  const output =
    destination ??
    createBoundedOutput(process.stdout, {
      dropped: (lines) => log.warn({ lines }, "lines of this log were dropped: nothing read standard output"),
      failed: ({ message }) => {
        // Its reader is gone as well, as a rule.
        outlivesReader(process.stderr);
        process.stderr.write(`${service}: the log can't be written (${message}); the service goes on without it.\n`);
      },
    });
  const readable = pretty === undefined ? output : rewriting(output, pretty);
  const log = pino(settings, mask === undefined ? readable : rewriting(readable, mask.text));
  return log;
}
