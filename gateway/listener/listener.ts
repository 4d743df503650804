import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { listen, drainClients, type HttpListener } from "#daemon/http/listener.ts";
import { takeProxyHeaders } from "#daemon/http/proxies/proxy-header.ts";
import type { Pause } from "#daemon/time.ts";
import { rejectConnection } from "#daemon/http/connections/rejected-connection.ts";
import { prependHandler } from "#daemon/http/raw-connections.ts";
import { toRequestInfo } from "../callers/request-facts.ts";
import { httpErrors, addressNotAdmitted, formatRawRejection, rejectUpgrade } from "./http-errors.ts";
import {
  createWebSocketClients,
  type WebSocketClients,
  type WebSocketClientsOptions,
} from "./websocket/websocket-clients.ts";
import { serveFastConnections } from "./fast-connections.ts";
import { createHttpConnections, createHttpHandler } from "./http-handler.ts";
import type { ListenerContext } from "./listener-context.ts";
import { RejectedBodies } from "./rejected-bodies.ts";
import { readTarget } from "./header-lines.ts";

/** Address of a listener, and limits on its open connections. */
export type ListenerOptions = Readonly<{
  host: string;
  port: number;
  /** Setting that specifies the port, for the error message if the port is in use. */
  setting: string;
  requestTimeoutMs: number;
  idleTimeoutMs: number;
  slowReaderTimeoutMs: number;
  fastPath: boolean;
  /** Peers that may connect; if absent, all peers may. */
  peers?: AdmittedPeers;
  /** Recognises proxies whose connections start with a PROXY protocol header. If absent, there are none. */
  isTrustedProxy?: (remoteAddress: string) => boolean;
  webSocket: WebSocketClientsOptions;
}>;

/** Dependencies of a listener: what its clients share, and how it waits while clients are asked to close their connections. */
export type ListenerDependencies = Omit<ListenerContext, "drain"> & Readonly<{ pause: Pause }>;

/** A running listener. Disposal lets in-flight calls finish and closes WebSockets with code 1001. */
export type Listener = AsyncDisposable &
  Readonly<{ url: string; port: number; webSockets: () => number; subscriptions: () => number }>;

/** Max interval between checks of how much clients have read. */
const sweepMs = 1_000;
/** How long clients are asked to close their open connections before idle ones are closed. */
const drainMs = 500;
/** How long WebSocket clients may take to respond to the close frame. */
const closeGraceMs = 1_000;

/**
 * Starts a listener for JSON-RPC over HTTP and WebSocket on one port.
 *
 * @throws {StartupError} when the port is in use or the address is not local to this machine.
 */
export async function startListener(
  options: ListenerOptions,
  { pause, ...shared }: ListenerDependencies,
): Promise<Listener> {
  const drain = { hasBegun: false };
  const context: ListenerContext = { ...shared, drain };
  const { connections } = context;
  const clients = createWebSocketClients(options.webSocket, context);
  const refusedBodies = new RejectedBodies();
  const answer = createHttpHandler(context, {
    refusedBodies,
    clients: createHttpConnections(context),
    isLast: ({ socket }) => drain.hasBegun || (options.fastPath && isShared(socket, context)),
  });
  const server = createServer(
    {
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: Math.min(10_000, options.requestTimeoutMs),
      keepAliveTimeout: options.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, options.requestTimeoutMs),
      noDelay: true,
      maxHeaderSize: 16_384,
      // Any other upgrade is ignored, as servers may do (RFC 9110, section 7.8): Java's and curl's clients offer h2c with a plain POST.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    },
    (request, response) => answer(request, response),
  );
  // A client gets no 100 Continue if its request is rejected by the head alone.
  server.on("checkContinue", (request, response) => answer(request, response, { isAwaited: true }));
  server.on("upgrade", (request, socket: Duplex, head) => void upgrade(request, socket, head));
  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A "close" event follows, which the owner of the WebSocket handles.
    socket.on("error", () => socket.destroy());
    const { headers } = request;
    const foreign = headers.origin !== undefined && context.corsHeaders(headers.origin) === undefined;
    const target = readTarget(request);
    if (target === undefined) rejectUpgrade(request, httpErrors.manyHosts);
    else if (foreign || !context.isAllowedHost(target.host)) {
      rejectUpgrade(request, foreign ? httpErrors.foreignOrigin : httpErrors.foreignHost);
    } else if (target.path !== "/") {
      rejectUpgrade(request, httpErrors.notFoundForUpgrade);
    } else if (drain.hasBegun) rejectUpgrade(request, httpErrors.goingAway);
    else {
      const facts = toRequestInfo(request);
      const identity = await context.identify(facts);
      const identifyAgain = () => context.identify(facts);
      const address = context.addressOf(facts);
      clients.upgrade(request, socket, head, { identity, address, traceContext: facts.traceContext, identifyAgain });
    }
  };
  const fast = options.fastPath ? serveFastConnections(server, options, context) : undefined;
  if (options.peers !== undefined) admitPeers(server, options.peers);
  if (context.isProxy !== undefined) connections.boundAddresses(server, context.isProxy);
  if (options.isTrustedProxy !== undefined) takeProxyHeaders(server, options.isTrustedProxy);
  connections.bound(server);
  const listening = await listen(server, { ...options, connections });
  const { slowReaderTimeoutMs } = options;
  const cutSlowReaders = () => connections.cutSlowReaders(slowReaderTimeoutMs);
  const slowReaders = setInterval(cutSlowReaders, Math.min(sweepMs, slowReaderTimeoutMs / 2)).unref();
  return {
    url: listening.url,
    port: listening.port,
    webSockets: clients.size,
    subscriptions: clients.subscriptions,
    [Symbol.asyncDispose]: async () => {
      await runDrain(listening, { drain, clients, connections, pause });
      refusedBodies[Symbol.dispose]();
      fast?.[Symbol.dispose]();
      clearInterval(slowReaders);
      clients[Symbol.dispose]();
    },
  };
}

/** What a drain closes, and the flag that marks its start. */
type Drained = Pick<ListenerDependencies, "connections" | "pause"> &
  Readonly<{ drain: { hasBegun: boolean }; clients: WebSocketClients }>;

/** Lets in-flight calls finish, closes WebSockets, and stops listening. */
async function runDrain(listening: HttpListener, { drain, clients, connections, pause }: Drained): Promise<void> {
  let left: Promise<void> | undefined;
  const begin = () => {
    drain.hasBegun = true;
    left = clients.leave();
  };
  await drainClients(listening, { begin, hasClients: () => connections.size > 0, idleMs: drainMs, pause });
  const closed = listening[Symbol.asyncDispose]();
  await left;
  const late = setTimeout(() => clients[Symbol.dispose](), closeGraceMs);
  await closed;
  clearTimeout(late);
}

/** Whether the connection also carries other callers' requests: these would stay off the fast path because of the current request. */
function isShared({ remoteAddress = "" }: Socket, { isProxy }: ListenerContext): boolean {
  return isProxy?.(remoteAddress) === true;
}

/** Peers that may call a listener. */
type AdmittedPeers = Readonly<{
  mayCall: (address: string) => boolean;
  /** Setting that lists these peers, for the rejection message. */
  setting: string;
}>;

/**
 * Adds an address check in front of a server's connections: a peer whose address is not allowed gets a 403, and its data is not read. Call
 * this last, right before the server listens.
 */
function admitPeers(server: Server, { mayCall, setting }: AdmittedPeers): void {
  const refusal = formatRawRejection(addressNotAdmitted(setting));
  prependHandler(server, (behind) => (socket) => {
    if (mayCall(socket.remoteAddress ?? "")) behind(socket);
    else rejectConnection(socket, refusal);
  });
}
