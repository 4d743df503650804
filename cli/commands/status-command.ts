import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { defaultStatusUrl, parseListenerUrl, parseIntervalSeconds } from "./option-values.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse status`: shows a node's state in a terminal. */
export function createStatusCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("status")
    .summary("Show a node's status")
    .description(
      "Prints the verdict, what is wrong and since when, with what to do, and the last events. Exits 0 when all is right, 2 when something is not, 1 when the listener could not be reached.",
    )
    .option("--url <url>", "status listener of the sidecar or gateway", parseListenerUrl, defaultStatusUrl)
    .option(
      "--watch [seconds]",
      "show it again every so many seconds, 5 by default, until Ctrl-C",
      parseIntervalSeconds,
    )
    .option("--json", "the whole status as JSON")
    .action(async ({ url, watch, json }) => {
      const { runStatusCommand: run } = await import("#status/status-command.ts");
      const everyMs = watch === undefined ? undefined : (watch === true ? 5 : watch) * 1_000;
      process.exitCode = await run(
        { url, json: json === true, everyMs },
        createTerminalOutput({ mask }),
        createStopSignal(),
      );
    });
}
