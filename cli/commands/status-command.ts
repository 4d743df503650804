import { Command, Option } from "@commander-js/extra-typings";
import { exitStatus } from "#daemon/command-line/command-output.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { defaultStatusUrl, parseIntervalSeconds, parseListenerUrl, parseListenPort } from "./option-values.ts";
import { createTerminalOutput } from "../terminal.ts";

const pagePort = 9610;
const statusServices: ReadonlySet<string> = new Set(["sidecar", "gateway"]);

/** Creates `gatehouse status`: shows the state of one or more nodes in a terminal, or of all on one page. */
export function createStatusCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("status")
    .summary("Show the status of one node, or of several")
    .description(
      "Prints the verdict, what is wrong, since when and what to do, and the last events. Exits 0 when all is healthy, 2 when something is not, 1 when a listener could not be reached. With --page, serves a page that checks all targets, also facilitators and resource servers, every five seconds, until Ctrl-C.",
    )
    .option(
      "--url <url>",
      `status listener of the sidecar or gateway (default: the only one running here, else ${defaultStatusUrl})`,
      parseListenerUrl,
    )
    .addOption(
      new Option(
        "--targets <where...>",
        "several: URLs, e.g. node-7=http://10.0.0.7:9600 (a name is optional), or files with one on each line; at most 64",
      ).conflicts("url"),
    )
    .option("--watch [seconds]", "refresh at this interval in seconds (default 5) until Ctrl-C", parseIntervalSeconds)
    .addOption(
      new Option("--page [port]", `serve one page for all targets (default ${pagePort}; 0 picks a free port)`)
        .argParser(parseListenPort)
        .preset(String(pagePort))
        .conflicts(["url", "watch", "json"]),
    )
    .option("--host <address>", "listen address of the page", "127.0.0.1")
    .option("--allowed-host <name...>", "host name allowed in requests for the page, besides addresses and localhost")
    .option("--json", "the whole status as JSON; with --targets a list, [{ name, url, status }]")
    .action(async ({ url, targets, watch, page, host, allowedHost = [], json }, command) => {
      if (page !== undefined) {
        if (targets === undefined) return command.error("status --page requires --targets");
        const { serveOverview } = await import("../serve-overview.ts");
        const options = { host, port: page, allowedHosts: allowedHost };
        process.exitCode = await serveOverview(targets, options, mask, createStopSignal());
        return;
      }
      const { readTargets, TargetError } = await import("../serve-overview.ts");
      const { runStatusCommand: run } = await import("#status/status-command.ts");
      const everyMs = watch === undefined ? undefined : (watch === true ? 5 : watch) * 1_000;
      const output = createTerminalOutput({ mask });
      try {
        const where = targets === undefined ? (url ?? (await findStatusUrl())) : readTargets(targets);
        const signal = AbortSignal.any([createStopSignal(), output.lost]);
        process.exitCode = await run({ where, json: json === true, everyMs }, output, signal);
      } catch (error) {
        if (!(error instanceof TargetError)) throw error;
        output.error(`status: ${error.message}\n`);
        process.exitCode = exitStatus.error;
      }
    });
}

/** Finds the status listener of the only sidecar or gateway that this user can see running on this machine. */
async function findStatusUrl(): Promise<string> {
  const { listRunningServices } = await import("#daemon/running-services.ts");
  const [only, ...otherServices] = listRunningServices(process.env).filter(({ service }) =>
    statusServices.has(service),
  );
  return only === undefined || otherServices.length > 0 ? defaultStatusUrl : only.url;
}
