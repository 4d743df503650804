import { listen } from "#daemon/http/listener.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Anvil } from "../anvil/anvil.ts";
import { deriveCommit, findFamilyOfProfile, type NodeProfile } from "../node-profile.ts";
import type { Node } from "./extension-methods.ts";
import { createHttpEndpoint } from "./http-endpoint.ts";
import { createMethods } from "./methods.ts";
import { createMessageHandler } from "./rpc-message.ts";
import { createWebSocketEndpoint } from "./websocket-endpoint.ts";

export type RpcServerOptions = Readonly<{
  host: string;
  /** Ports for HTTP (`POST /`) and WebSocket, with the names of their settings for the error when one is taken; 0 requests a free port. */
  http: Readonly<{ port: number; setting: string }>;
  webSocket: Readonly<{ port: number; setting: string }>;
  /** The node's version, e.g. `0.16.2`: for `web3_clientVersion` and `debug_protocolVersion`. */
  version: string;
  profile: NodeProfile;
}>;

/** A running JSON-RPC server. Disposing of it closes both listeners and all subscriptions. */
export type RpcServer = AsyncDisposable & Readonly<{ httpUrl: string; webSocketUrl: string }>;

/**
 * Serves the node's JSON-RPC interface over HTTP and WebSocket.
 *
 * @throws {StartupError} when a port is taken, with the name of its setting.
 */
export async function startRpcServer(
  { host, http, webSocket, version, profile }: RpcServerOptions,
  { anvil, log }: Readonly<{ anvil: Pick<Anvil, "request" | "onBlock">; log: Logger }>,
): Promise<RpcServer> {
  const family = findFamilyOfProfile(profile);
  const commit = family.versionedBy === "commit" ? deriveCommit(version, family) : undefined;
  const clientVersion = describeClient(profile, version, commit);
  const node: Node = { anvil, version, clientVersion, commit };
  const methods = createMethods(node);
  const handler = createMessageHandler({ callsMax: family.chain.batchCallsMax }, { log });
  await using starting = new AsyncDisposableStack();
  const endpoint = createWebSocketEndpoint({ node, handler, methods, log });
  const wsListener = starting.use(await listen(endpoint.server, { host, ...webSocket }));
  starting.use(endpoint);
  const httpEndpoint = createHttpEndpoint((text) => handler(text, (name) => methods.get(name)));
  const httpListener = starting.use(await listen(httpEndpoint, { host, ...http }));
  starting.defer(anvil.onBlock(endpoint.publish));
  const resources = starting.move();
  return {
    httpUrl: httpListener.url,
    webSocketUrl: wsListener.url.replace("http:", "ws:"),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Describes the node's client. A strict node reports the program that it was forked from, without its own version. */
function describeClient(profile: NodeProfile, version: string, commit: string | undefined): string {
  if (profile === "strict") return "Reth/v1.3.12-abc/x86_64-linux";
  if (commit !== undefined) return `pharos/${commit}/linux`;
  return `gatehouse-devnet/v${version}/${process.platform}-${process.arch}/node${process.versions.node}`;
}
