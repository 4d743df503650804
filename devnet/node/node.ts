import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { pause } from "#daemon/time.ts";
import { startAnvil, type Anvil } from "../anvil/anvil.ts";
import { readMonitorSettings } from "../monitor/monitor-settings.ts";
import { startRpcServer } from "../rpc/rpc-server.ts";
import { deployContracts } from "../contracts/genesis.ts";
import type { NodeParameters } from "../workspace/node-parameters.ts";
import { readNodeConf } from "./node-conf.ts";
import { openPruning, type Pruning } from "../pruning.ts";
import { claimWorkspace } from "./running-node.ts";
import { createServer, type ServerResponse } from "node:http";
import { startListening } from "#daemon/http/listening-sockets.ts";
import { findShortSocketPath } from "#daemon/http/short-socket-path.ts";
import { locateControlSocket } from "./control-client.ts";

export type NodeOptions = Readonly<{
  /** Read once, at the start. */
  configPath: string;
  runDirectory: string;
  parameters: NodeParameters;
}>;

export type NodeDependencies = Readonly<{ log: Logger; signal: AbortSignal }>;

/** A serving node. Disposing of it saves the chain and releases the workspace. */
export type Node = Readonly<{
  httpUrl: string;
  webSocketUrl: string;
  height: () => number;
  /** Resolves with the cause if the chain is lost; the node must then exit. */
  ended: Promise<Error>;
  [Symbol.asyncDispose]: () => Promise<void>;
}>;

/**
 * Starts the node of a workspace according to its `node.conf`: chain, token, JSON-RPC, pruning, metrics.
 *
 * @throws {StartupError} when `node.conf` is unusable, a port is taken, or the workspace already has a running node.
 */
export async function startNode(options: NodeOptions, dependencies: NodeDependencies): Promise<Node> {
  const { configPath, runDirectory, parameters } = options;
  const { version, profile, listenHost } = parameters;
  const conf = readNodeConf(configPath);
  await using resources = new AsyncDisposableStack();
  for (const directory of [conf.metaDirectory, conf.dataDirectory]) await mkdir(directory, { recursive: true });
  resources.use(await claimWorkspace(runDirectory));
  const anvil = resources.use(await startChain(parameters, join(conf.dataDirectory, "chain"), dependencies));
  const height = await followHeight(anvil);
  const pruning = await openPruning(conf.metaDirectory, height);
  resources.use(await startControlServer(runDirectory, pruning));
  await pause(parameters.opensAfterSeconds * 1_000, dependencies.signal);
  if (dependencies.signal.aborted) throw new StartupError("the node was stopped before it opened its ports");
  const rpc = resources.use(
    await startRpcServer(
      {
        host: listenHost,
        http: { port: conf.httpPort, setting: `chain.startup_config.init_config.http_port in ${configPath}` },
        webSocket: { port: conf.webSocketPort, setting: `chain.startup_config.init_config.ws_port in ${configPath}` },
        version,
        profile,
      },
      { anvil, log: dependencies.log },
    ),
  );
  const monitor = readMonitorSettings(version, conf.monitorConfig);
  if (monitor !== undefined) {
    const { createNodeMetrics } = await import("../monitor/node-metrics.ts");
    const { startMetricsPusher } = await import("../monitor/metrics-pusher.ts");
    const metrics = createNodeMetrics({ version }, { anvil, pruning, height });
    resources.use(startMetricsPusher(monitor, { metrics, fetch, log: dependencies.log }));
  }
  const owned = resources.move();
  return {
    httpUrl: rpc.httpUrl,
    webSocketUrl: rpc.webSocketUrl,
    height,
    ended: anvil.ended,
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

/** 10,000 ether. */
const fundedWei = "0x21e19e0c9bab2400000";

async function startChain(
  parameters: NodeParameters,
  stateDirectory: string,
  dependencies: NodeDependencies,
): Promise<Anvil> {
  const { chainId, blockTimeSeconds, mnemonic, accounts, fund } = parameters;
  await using resources = new AsyncDisposableStack();
  const anvil = resources.use(await startAnvil({ chainId, blockTimeSeconds, stateDirectory }, dependencies));
  await deployContracts(anvil, async () => {
    const { deriveFundedAccounts } = await import("./funded-accounts.ts");
    const holders = deriveFundedAccounts({ mnemonic, accounts, fund });
    await Promise.all(holders.map((address) => anvil.request("anvil_setBalance", [address, fundedWei])));
    return { chainId, holders };
  });
  resources.move();
  return anvil;
}

async function followHeight(anvil: Anvil): Promise<() => number> {
  let height = 0;
  anvil.onBlock((block) => (height = Math.max(height, Number(block.number))));
  height = Math.max(height, Number(await anvil.request<string>("eth_blockNumber")));
  return () => height;
}

/**
 * Serves `node_cli` requests to a running node over a Unix socket in the workspace's run directory, accessible to the owner only: `GET
 * /prune` and `POST /prune/auto` return PruneInfo as JSON.
 */
async function startControlServer(runDirectory: string, pruning: Pruning): Promise<AsyncDisposable> {
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    const route = `${request.method} ${request.url}`;
    if (route === "GET /prune") return answer(response, 200, pruning.info());
    if (route !== "POST /prune/auto") return answer(response, 404, { error: `no such route: ${route}` });
    pruning.enable().then(
      () => answer(response, 200, pruning.info()),
      (error: unknown) =>
        answer(response, 500, { error: `auto-pruning can't be enabled persistently: ${String(error)}` }),
    );
  });
  // This process has the workspace's lock, so an existing socket is a leftover of a killed node.
  await rm(join(runDirectory, "control.sock"), { force: true });
  const address = await findShortSocketPath(locateControlSocket(runDirectory));
  await startListening(server, { path: address.path });
  return {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await address[Symbol.asyncDispose]();
    },
  };
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
