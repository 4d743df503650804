import { Command } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createStopSignal } from "#daemon/process/stop-signal.ts";
import { parseListenPort } from "./option-values.ts";

const defaultPort = 9610;

/** Creates `gatehouse dashboard`: one page for several nodes and services. */
export function createDashboardCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("dashboard")
    .summary("Serve one page with the status of several nodes and services")
    .description(
      "Checks the admin ports of sidecars, gateways, facilitators and resource servers every five seconds, and serves a page with the verdict, duration, cause and figures of each, and a link to its own page. It changes nothing. Runs until Ctrl-C.",
    )
    .requiredOption(
      "--targets <where...>",
      "URLs, e.g. node-7=http://10.0.0.7:9600 (a name is optional), or files with one on each line; at most 64",
    )
    .option("--host <address>", "listen address", "127.0.0.1")
    .option("--port <port>", "listen port; 0 picks a free one", parseListenPort, defaultPort)
    .option("--allowed-host <name...>", "host name allowed in requests, besides addresses and localhost")
    .action(async ({ targets, host, port, allowedHost = [] }) => {
      const { runDashboard } = await import("./run-dashboard.ts");
      const listen = { host, port, allowedHosts: allowedHost };
      process.exitCode = await runDashboard({ where: targets, listen }, { mask, signal: createStopSignal() });
    });
}
