import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { logFormats, formatPrettyLines } from "#daemon/log/log-format.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { logLevels, readSince } from "../logs/log-line.ts";
import { createTerminalOutput } from "../terminal.ts";

/** Creates `gatehouse logs`: shows the logs of services, wherever they run. */
export function createLogsCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("logs")
    .summary("Show the logs of a stack's services, of containers or of pods, in the order of their times")
    .description(
      "Without a name, the logs of every service of `gatehouse stack` in its folder. Exits 0 when they were shown, 1 when one could not be read.",
    )
    .argument("[service...]", "services of the stack, e.g. sidecar facilitator")
    .option("-f, --follow", "go on with what is written, until Ctrl-C", false)
    .addOption(new Option("--level <level>", "leave out what is below it").choices(logLevels))
    .option("--since <time>", "leave out what is older: 30s, 10m, 2h, 1d, or 2026-01-01T12:00:00Z", parseSince)
    .option("--lines <count>", "most lines of the past of each log", parseLines, 1_000)
    .addOption(
      new Option("--format <format>", "auto: for a person on a terminal, else JSON")
        .choices(logFormats)
        .default("auto" as const),
    )
    .option("--json", "the same as --format json", false)
    .option("--state-dir <path>", "folder of the stack", ".gatehouse")
    .option("--file <path>", "a log's file instead; may be repeated", collect, [])
    .option("--container <name>", "a Docker container instead; may be repeated", collect, [])
    .option("--pod <name>", "a pod instead, or what kubectl takes for one; may be repeated", collect, [])
    .option("--namespace <name>", "the pods' namespace")
    .action(
      async (
        services,
        { follow, level, since: sinceMs, lines, format, json, stateDir, file, container, pod, namespace },
      ) => {
        const { showLogs } = await import("../logs/show-logs.ts");
        const named = { services, stateDirectory: stateDir, files: file, containers: container, pods: pod, namespace };
        process.exitCode = await showLogs(
          { ...named, lines, follow, filter: { level, sinceMs } },
          {
            ...createTerminalOutput({ mask }),
            pretty: await formatPrettyLines(json ? "json" : format, process.stdout, process.env),
            signal: createStopSignal(),
          },
        );
      },
    );
}

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

function parseSince(text: string): number {
  const sinceMs = readSince(text, Date.now());
  if (sinceMs !== undefined) return sinceMs;
  throw new InvalidArgumentError("Expected a time such as 10m (s, m, h or d) or 2026-01-01T12:00:00Z.");
}

function parseLines(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0 && count <= 100_000) return count;
  throw new InvalidArgumentError("Expected a whole number from 0 to 100000.");
}
