import { Command, Option } from "@commander-js/extra-typings";
import { exitStatus } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { defaultStatusUrl, parseListenerUrl, parseIntervalSeconds } from "./option-values.ts";
import { TargetError } from "#sidecar/overview/targets.ts";
import { readTargets } from "../target-list.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse status`: shows the state of one or more nodes in a terminal. */
export function createStatusCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("status")
    .summary("Show the status of one node, or of several")
    .description(
      "Prints the verdict, what is wrong, since when and what to do, and the last events. Exits 0 when all is healthy, 2 when something is not, 1 when a listener could not be reached.",
    )
    .option("--url <url>", "status listener of the sidecar or gateway", parseListenerUrl, defaultStatusUrl)
    .addOption(
      new Option(
        "--targets <where...>",
        "several sidecars or gateways: URLs, e.g. node-7=http://10.0.0.7:9600 (a name is optional), or files with one on each line; at most 64",
      ).conflicts("url"),
    )
    .option("--watch [seconds]", "refresh every so many seconds (default 5) until Ctrl-C", parseIntervalSeconds)
    .option("--json", "the whole status as JSON; with --targets a list, [{ name, url, status }]")
    .action(async ({ url, targets, watch, json }) => {
      const { runStatusCommand: run } = await import("#status/status-command.ts");
      const everyMs = watch === undefined ? undefined : (watch === true ? 5 : watch) * 1_000;
      const output = createTerminalOutput({ mask });
      try {
        const where = targets === undefined ? url : readTargets(targets);
        process.exitCode = await run({ where, json: json === true, everyMs }, output, createStopSignal());
      } catch (error) {
        if (!(error instanceof TargetError)) throw error;
        output.error(`status: ${error.message}\n`);
        process.exitCode = exitStatus.error;
      }
    });
}
