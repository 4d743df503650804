import type { Command } from "@commander-js/extra-typings";
import type { z } from "zod";
import { endProcess } from "#daemon/process/end-process.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import type { Service } from "#daemon/service.ts";

/** Runs a service until it stops; returns the exit status. */
type Run = <Schema extends z.ZodObject>(service: Service<Schema>) => Promise<number>;

type ServiceCommand = Readonly<{
  name: string;
  summary: string;
  /** Loads the service lazily, so that only its own command pays for its imports and its settings' schema. */
  start: (run: Run) => Promise<number>;
  /**
   * "keep-serving": if no new process can start, the running one continues to serve. Not for the sidecar, because its node would be
   * unattended.
   */
  onFailedHandover?: "stop" | "keep-serving";
}>;

const products: readonly ServiceCommand[] = [
  {
    name: "sidecar",
    summary: "Guard a node: configuration, pruning, restarts, health, and its RPC",
    start: async (run) => run((await import("#sidecar/main.ts")).sidecar),
    onFailedHandover: "stop",
  },
  {
    name: "gateway",
    summary: "Guard the RPC of any EVM node: methods, limits, cache, WebSocket, health",
    start: async (run) => run((await import("#gateway/main.ts")).gateway),
    onFailedHandover: "keep-serving",
  },
  {
    name: "facilitator",
    summary: "Verify and settle x402 payments on-chain",
    start: async (run) => run((await import("#facilitator/main.ts")).facilitator),
    onFailedHandover: "keep-serving",
  },
  {
    name: "resource-server",
    summary: "Sell HTTP routes through x402 and forward paid requests upstream",
    start: async (run) => run((await import("#resource-server/main.ts")).resourceServer),
    onFailedHandover: "keep-serving",
  },
];

/** Services that only a deployment or the stack starts; hidden from `--help`. */
const helpers: readonly ServiceCommand[] = [
  {
    name: "devnet",
    summary: "Run a development node with the whole JSON-RPC interface",
    start: async (run) => run((await import("#devnet/main.ts")).devnet),
  },
  {
    name: "engine-proxy",
    summary: "Give a sidecar limited access to the Docker Engine: inspect, restart and node_cli of one container only",
    start: async (run) => run((await import("#engine-proxy/main.ts")).engineProxy),
  },
  {
    name: "pushgateway",
    summary: "Run Prometheus's Pushgateway if it is on PATH, otherwise a stand-in for development",
    start: async (run) => run((await import("#devnet/pushgateway/main.ts")).pushgateway),
  },
  {
    name: "upstream",
    summary: "Run a sample upstream with something to sell",
    start: async (run) => run((await import("#devnet/upstream/main.ts")).upstream),
  },
];

export const productNames = products.map(({ name }) => name);
export const helperNames = helpers.map(({ name }) => name);

/** Returns whether a command runs a service, rather than a job with settings of its own. */
export function isServiceCommand(name: string): boolean {
  return [...productNames, ...helperNames].includes(name);
}

/** Adds `gatehouse <service>`: runs the service until SIGINT or SIGTERM. */
export function addService(program: Command, name: string, mask: Mask): void {
  const found = [...products, ...helpers].find((known) => known.name === name);
  if (found === undefined) throw new TypeError(`${name} is not a service`);
  const { summary, start, onFailedHandover } = found;
  const command = program
    .command(name, { hidden: helpers.includes(found) })
    .summary(summary)
    .description(summary)
    .option("--settings <file>", "JSON5 file with the settings; environment variables override it")
    .option("--all", "with --help: explain every setting");
  if (onFailedHandover !== undefined) {
    command.option("--hot-restart", "apply settings file changes by hot restart, without downtime");
  }
  command.action(async ({ settings, all }) => {
    if (all === true) command.error(`${name}: --all requires --help: gatehouse ${name} --help --all`);
    const { hotRestart } = command.opts() as Readonly<{ hotRestart?: true }>;
    if (hotRestart === true) {
      const { toEnvironmentName } = await import("#daemon/settings/leaf.ts");
      const settingsPath = settings ?? process.env[toEnvironmentName(name, ["settingsPath"])];
      if (settingsPath === undefined) {
        return command.error(`${name}: --hot-restart requires a settings file; specify one with --settings`);
      }
      const { superviseService } = await import("#daemon/hot-restart/supervisor.ts");
      const { selectServiceVariables } = await import("../service-variables.ts");
      const environment = selectServiceVariables(name, process.env);
      const keepsServing = onFailedHandover === "keep-serving";
      await endProcess(await superviseService({ service: name, settingsPath, environment, keepsServing }));
    }
    // Imported here, so that no other command loads logging, metrics and their libraries.
    const { runService } = await import("#daemon/service.ts");
    // Exits the process once the service has stopped, even if a library keeps a handle open.
    await endProcess(await start((service) => runService(service, { settingsFile: settings }, { mask })));
  });
}
