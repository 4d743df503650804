import { listen } from "#daemon/http-listener.ts";
import type { Logger } from "#daemon/log.ts";
import type { Anvil } from "../anvil/anvil.ts";
import { createHttpEndpoint } from "./http-endpoint.ts";
import { createMethodTable } from "./method-table.ts";
import { withPrunedStates } from "./pruned-state.ts";
import { createMessageHandler, type CallObserver } from "./rpc-message.ts";
import { createWebSocketEndpoint } from "./websocket-endpoint.ts";

/** Where the node's JSON-RPC is served. */
export type RpcServerOptions = Readonly<{
  host: string;
  /** HTTP, `POST /`; 0 asks for a free port. */
  httpPort: number;
  /** WebSocket; 0 asks for a free port. */
  webSocketPort: number;
  /** What names the HTTP port to a person (for the message when it is taken). */
  httpPortSetting: string;
  webSocketPortSetting: string;
  /** The node's version, e.g. `0.16.2`: for `web3_clientVersion` and `debug_protocolVersion`. */
  version: string;
}>;

/** What the server is made of. */
export type RpcServerDependencies = Readonly<{
  anvil: Pick<Anvil, "request" | "onBlock">;
  log: Logger;
  /** Told of each call, for metrics. */
  observeCall?: CallObserver;
}>;

/** A serving JSON-RPC endpoint. Disposing of it closes both listeners and every subscription. */
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
  const node = { anvil: withPrunedStates(anvil), version: options.version };
  const handler = createMessageHandler({ methods: createMethodTable(node), observe: observeCall, log });
  await using starting = new AsyncDisposableStack();
  const webSocket = createWebSocketEndpoint({ handler, node, log });
  const { host, httpPort, webSocketPort } = options;
  const wsListener = starting.use(
    await listen(webSocket.server, { host, port: webSocketPort, setting: options.webSocketPortSetting }),
  );
  starting.use(webSocket);
  const httpListener = starting.use(
    await listen(createHttpEndpoint(handler), { host, port: httpPort, setting: options.httpPortSetting }),
  );
  starting.defer(anvil.onBlock(webSocket.publish));
  const resources = starting.move();
  return {
    httpUrl: httpListener.url,
    webSocketUrl: wsListener.url.replace("http:", "ws:"),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
