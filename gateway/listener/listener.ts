import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import type { ConnectionTimeouts } from "#daemon/http/connections/listener-connections.ts";
import { rejectConnection } from "#daemon/http/connections/rejected-connection.ts";
import { listen, drainClients } from "#daemon/http/listener.ts";
import { takeProxyHeaders } from "#daemon/http/proxies/proxy-header.ts";
import { prependHandler, pushBackBytes, sliceReads, type SlicedReads } from "#daemon/http/raw-connections.ts";
import { limitChunks } from "#daemon/http/request-chunks.ts";
import { readTarget } from "#daemon/http/request-target.ts";
import type { Pause } from "#daemon/time.ts";
import { httpErrors, notAllowed, formatRawRejection, rejectUpgrade } from "./http-errors.ts";
import { HttpHandler } from "./http-handler.ts";
import type { ListenerContext, RequestContext } from "./listener-context.ts";
import { RejectedBodies } from "./rejected-bodies.ts";
import { createWebSocketClients, type WebSocketClientsOptions } from "./websocket/websocket-clients.ts";
import { shareMessageHeads } from "../wire/message-head.ts";
import { Outbox } from "../wire/outbox.ts";
import { FastConnection } from "./fast-connection.ts";
import { createFastResponseHeads, type FastPath } from "./fast-response.ts";
import type { Socket } from "node:net";
import { toPeerInfo } from "../callers/request-facts.ts";
import { PendingTurn } from "../wire/shared-turns.ts";

type ListenerOptions = ConnectionTimeouts &
  Readonly<{
    host: string;
    port: number;
    /** Setting that specifies the port, for the error message if the port is in use. */
    setting: string;
    fastPath: boolean;
    /** Peers that may connect; if absent, all peers may. */
    peers?: AdmittedPeers;
    /** Recognizes proxies whose connections start with a PROXY protocol header. If absent, there are none. */
    isTrustedProxy?: (remoteAddress: string) => boolean;
    webSocket: WebSocketClientsOptions;
  }>;

/** Dependencies of a listener: its clients' shared state, and how it waits while they are asked to close their connections. */
type ListenerDependencies = Omit<ListenerContext, "drain"> & Readonly<{ pause: Pause }>;

/** A running listener. Disposal lets in-flight calls finish and closes WebSockets with code 1001. */
export type Listener = AsyncDisposable &
  Readonly<{ url: string; webSockets: () => number; subscriptions: () => number }>;

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
  const { connections, isProxy } = context;
  const clients = createWebSocketClients(options.webSocket, context);
  const rejectedBodies = new RejectedBodies();
  // The next requests on a proxy's connection come from other callers, which must not lose the fast path because of this one.
  const isShared = (remoteAddress = "") => options.fastPath && isProxy?.(remoteAddress) === true;
  const http = new HttpHandler(context, {
    rejectedBodies,
    isLast: ({ remoteAddress }) => drain.hasBegun || isShared(remoteAddress),
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
    (request, response) => http.serve(request, response),
  );
  server.on("checkContinue", (request, response) => http.serve(request, response, true));
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A "close" event follows, which the owner of the WebSocket handles.
    socket.on("error", () => socket.destroy());
    const { origin } = request.headers;
    const target = readTarget(request);
    if (target === undefined) rejectUpgrade(request, httpErrors.manyHosts);
    else if (origin !== undefined && context.corsHeaders(origin) === undefined)
      rejectUpgrade(request, context.rejections.origin);
    else if (!context.isAllowedHost(target.host)) rejectUpgrade(request, context.rejections.host);
    else if (target.path !== "/") rejectUpgrade(request, httpErrors.notFoundForUpgrade);
    else if (drain.hasBegun) rejectUpgrade(request, httpErrors.goingAway);
    else void clients.upgrade(request, socket, head);
  });
  limitChunks(server);
  paceConnections(server, context);
  if (options.fastPath) serveFastConnections(server, options.idleTimeoutMs, context);
  if (options.peers !== undefined) admitPeers(server, options.peers);
  if (isProxy !== undefined) connections.limitAddresses(server, isProxy);
  if (options.isTrustedProxy !== undefined) takeProxyHeaders(server, options.isTrustedProxy);
  connections.limit(server);
  const listening = await listen(server, { ...options, connections });
  const expiry = connections.expire(options);
  return {
    url: listening.url,
    webSockets: clients.size,
    subscriptions: clients.subscriptions,
    [Symbol.asyncDispose]: async () => {
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
      rejectedBodies[Symbol.dispose]();
      expiry[Symbol.dispose]();
      clients[Symbol.dispose]();
    },
  };
}

type AdmittedPeers = Readonly<{
  mayCall: (address: string) => boolean;
  /** Setting that lists these peers, for the rejection message. */
  setting: string;
}>;

/** Rejects peers with a disallowed address with 403, without reading anything. Call this last, right before the server listens. */
function admitPeers(server: Server, { mayCall, setting }: AdmittedPeers): void {
  const rejection = formatRawRejection(notAllowed("address", setting));
  prependHandler(server, (behind) => (socket) => {
    if (mayCall(socket.remoteAddress ?? "")) behind(socket);
    else rejectConnection(socket, rejection);
  });
}

/** Passes a server's new connections to the fast path, which passes on those that it can't serve. Call this before the server listens. */
export function serveFastConnections(server: Server, idleTimeoutMs: number, context: RequestContext): void {
  const { connections } = context;
  prependHandler(server, (behind) => {
    const path: FastPath = {
      context,
      heads: createFastResponseHeads(idleTimeoutMs, { ...context, wallClock: Date.now }),
      outbox: new Outbox(),
      keepHead: shareMessageHeads(),
      hotRestart: (socket, unread) => {
        connections.serve(socket, undefined);
        behind(socket);
        pushBackBytes(socket, unread);
      },
    };
    return (socket) => connections.serve(socket, new FastConnection(socket, path));
  });
}

/**
 * Passes a connection's bytes to node:http in slices, round-robin with other callers: node:http parses all bytes that it gets at once, and
 * a single read may contain thousands of requests or chunks. Call it before anything else handles the server's connections.
 */
export function paceConnections(
  server: Server,
  { turns, addressOf, connections }: Pick<RequestContext, "turns" | "addressOf" | "connections">,
): void {
  const paced = new WeakMap<Socket, SlicedReads>();
  prependHandler(server, (behind) => (socket) => {
    behind(socket);
    const address = () => addressOf(toPeerInfo(socket));
    const turn = new PendingTurn(turns, () => reads.next());
    connections.waitBy(socket, () => turn.isWaiting);
    const reads = sliceReads(socket, (isFirst) => (isFirst ? turn.waitForTurn(address) : turn.waitIfOver(address)));
    paced.set(socket, reads);
  });
  for (const event of ["request", "checkContinue"])
    server.prependListener(event, ({ headers, socket }: IncomingMessage) =>
      paced.get(socket)?.allow(Number(headers["content-length"] ?? 0)),
    );
  server.prependListener("upgrade", ({ socket }: IncomingMessage) => paced.get(socket)?.release());
}
