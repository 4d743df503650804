import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { defaultStatusUrl, parseListenerUrl, parseIntervalSeconds } from "./option-values.ts";
import { createTerminalOutput } from "../terminal.ts";

const defaultSeconds = 2;

/** Creates `gatehouse top`: a node's state, traffic and limits in a terminal, live. */
export function createTopCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("top")
    .summary("Watch a node and its traffic in the terminal")
    .description(
      "Shows the verdict, the block and its age, requests by tier and method, limits, restarts left, disk, and what is wrong with its steps. q or Ctrl-C ends it. Without a terminal it prints one sheet and ends: 0 when all is right, 2 when something is not, 1 when the listener could not be reached.",
    )
    .option("--url <url>", "status listener of the sidecar or gateway", parseListenerUrl, defaultStatusUrl)
    .option("--every <seconds>", "time between two looks", parseIntervalSeconds, defaultSeconds)
    .option("--once", "print one sheet and end")
    .option("--json", "the whole status as JSON, once, as gatehouse status --json prints it")
    .action(async ({ url, every, once, json }) => {
      const { printTop, watchTop } = await import("#status/top/top-command.ts");
      const output = createTerminalOutput({ mask });
      if (once === true || json === true || !process.stdout.isTTY) {
        process.exitCode = await printTop({ url, json: json === true }, output);
        return;
      }
      const terminal = { input: process.stdin, output: process.stdout };
      const { isColored } = output;
      const dependencies = { terminal, isColored, mask, signal: createStopSignal() };
      process.exitCode = await watchTop({ url, everyMs: every * 1_000 }, dependencies, output);
    });
}
