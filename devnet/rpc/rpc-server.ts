import { listen } from "#daemon/http/listener.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Anvil } from "../anvil/anvil.ts";
import { deriveCommit, findFamilyOfProfile, type NodeProfile } from "../node-profile.ts";
import { createHttpEndpoint } from "./http-endpoint.ts";
import { createMethodTable } from "./methods/method-table.ts";
import { withPrunedStates } from "./evm/pruned-state.ts";
import { createMessageHandler, type CallObserver } from "./rpc-message.ts";
import { createWebSocketEndpoint } from "./websocket-endpoint.ts";
import { errorCode } from "./rpc-error.ts";

export type RpcServerOptions = Readonly<{
  host: string;
  /** HTTP, `POST /`; 0 requests a free port. */
  httpPort: number;
  /** WebSocket; 0 requests a free port. */
  webSocketPort: number;
  /** Name of the HTTP port's setting, for the error when the port is taken. */
  httpPortSetting: string;
  webSocketPortSetting: string;
  /** The node's version, e.g. `0.16.2`: for `web3_clientVersion` and `debug_protocolVersion`. */
  version: string;
  /**
   * A strict node reports another client, maps errors to HTTP statuses, and formats made-up numbers in decimal; a `pharos` node behaves
   * like the public family.
   */
  profile?: NodeProfile;
}>;

export type RpcServerDependencies = Readonly<{
  anvil: Pick<Anvil, "request" | "onBlock">;
  log: Logger;
  /** Called once per call, for metrics. */
  observeCall?: CallObserver;
}>;

/** Name and version of another program, as a node forked from that program may report. */
const strictClient = "Reth/v1.3.12-abc/x86_64-linux";

/** A running JSON-RPC server. Disposing of it closes both listeners and all subscriptions. */
export type RpcServer = AsyncDisposable & Readonly<{ httpUrl: string; webSocketUrl: string }>;

/**
 * Serves the node's JSON-RPC interface over HTTP and WebSocket.
 *
 * @throws {StartupError} when a port is taken, with the name of its setting.
 */
export async function startRpcServer(
  options: RpcServerOptions,
  { anvil, log, observeCall = () => undefined }: RpcServerDependencies,
): Promise<RpcServer> {
  const { version, profile = "standard" } = options;
  const isStrict = profile === "strict";
  const family = findFamilyOfProfile(profile);
  const chain = withPrunedStates(anvil);
  const commit = family.versionedBy === "commit" ? deriveCommit(version, family) : undefined;
  const node = {
    anvil: profile === "pharos" ? withLogIndexOfTransaction(chain) : chain,
    version,
    ...(commit === undefined ? {} : { commit, clientVersion: `${family.name}/${commit}/linux` }),
    ...(isStrict ? { clientVersion: strictClient, numbers: "decimal" as const } : {}),
  };
  const callsMax = family.chain.batchCallsMax;
  const handler = createMessageHandler({ methods: createMethodTable(node), observe: observeCall, log, callsMax });
  await using starting = new AsyncDisposableStack();
  const webSocket = createWebSocketEndpoint({ handler, node, log });
  const { host, httpPort, webSocketPort } = options;
  const wsListener = starting.use(
    await listen(webSocket.server, { host, port: webSocketPort, setting: options.webSocketPortSetting }),
  );
  starting.use(webSocket);
  const httpListener = starting.use(
    await listen(createHttpEndpoint(handler, isStrict ? deriveStatus : () => 200), {
      host,
      port: httpPort,
      setting: options.httpPortSetting,
    }),
  );
  starting.defer(anvil.onBlock(webSocket.publish));
  const resources = starting.move();
  return {
    httpUrl: httpListener.url,
    webSocketUrl: wsListener.url.replace("http:", "ws:"),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Derives a response's HTTP status, for a node that maps JSON-RPC errors to statuses: 4xx for the caller's mistakes, otherwise 500. */
function deriveStatus(text: string): number {
  if (text === "" || text.startsWith("[")) return 200;
  const { error } = JSON.parse(text) as { error?: { code: number } };
  if (error === undefined) return 200;
  if (error.code === errorCode.methodNotFound) return 404;
  const isCallers = [errorCode.parse, errorCode.invalidRequest, errorCode.invalidParams].some(
    (code) => code === error.code,
  );
  return isCallers ? 400 : 500;
}

type Chain = Pick<Anvil, "request">;

type NumberedLog = Readonly<{ logIndex: string; transactionHash: string }>;

/** Wraps the chain so that logs are numbered within their transaction, as on the public family's nodes, instead of within their block. */
export function withLogIndexOfTransaction({ request }: Chain): Chain {
  const findFirst = async (hash: string): Promise<number> => {
    const receipt = await request<{ logs: readonly NumberedLog[] } | null>("eth_getTransactionReceipt", [hash]);
    return Number(receipt?.logs[0]?.logIndex ?? 0);
  };
  const renumber = async (logs: readonly NumberedLog[]): Promise<readonly NumberedLog[]> => {
    const hashes = [...new Set(logs.map(({ transactionHash }) => transactionHash))];
    const firsts = new Map(await Promise.all(hashes.map(async (hash) => [hash, await findFirst(hash)] as const)));
    return logs.map((log) => {
      const index = Number(log.logIndex) - (firsts.get(log.transactionHash) ?? 0);
      return { ...log, logIndex: `0x${index.toString(16)}` };
    });
  };
  const renumberReceipt = async <Receipt extends Readonly<{ logs: readonly NumberedLog[] }> | null>(receipt: Receipt) =>
    receipt === null ? receipt : { ...receipt, logs: await renumber(receipt.logs) };
  return {
    request: async <T>(method: string, params?: readonly unknown[]): Promise<T> => {
      const result: unknown = await request(method, params);
      if (method === "eth_getLogs") return (await renumber(result as readonly NumberedLog[])) as T;
      if (method === "eth_getTransactionReceipt") return (await renumberReceipt(result as never)) as T;
      if (method === "eth_getBlockReceipts" && Array.isArray(result)) {
        return (await Promise.all(result.map((receipt) => renumberReceipt(receipt as never)))) as T;
      }
      return result as T;
    },
  };
}
