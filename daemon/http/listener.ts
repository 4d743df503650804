import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { ListenerConnections } from "./connections/listener-connections.ts";
import { getSocketExchange } from "../hot-restart/socket-exchange.ts";
import { pause, type Pause } from "../time.ts";
import type { ServePost } from "./json-posts.ts";
import { limitChunks } from "./request-chunks.ts";
import { listenOnSockets, type ListeningSockets } from "./listening-sockets.ts";
import { takeProxyHeaders } from "./proxies/proxy-header.ts";
import { StartupError } from "../process/startup-error.ts";
import { formatAuthority } from "./address.ts";
import { hasOneHost, replaceTarget } from "./request-target.ts";

export type ListenOptions = Readonly<{
  host: string;
  /** Port to listen on; 0 picks a free one. */
  port: number;
  /** The setting that specifies the port, for the message when it is in use. */
  setting: string;
  requestTimeoutMs: number;
  /** Recognizes proxies whose connections start with a PROXY protocol header; absent: none do. */
  isTrustedProxy?: (remoteAddress: string) => boolean;
  /** The listener's share of the process's connections; absent: unlimited. */
  connections?: ListenerConnections;
  /** Whether a peer is a proxy, whose connections carry many clients; absent: connections are not limited per address. */
  isProxy?: (remoteAddress: string) => boolean;
  /** Serves requests that don't go through the application. */
  servePost?: ServePost;
}>;

/** A listening HTTP server. Disposing of it closes idle connections, drains requests in flight, and then closes. */
export type HttpListener = AsyncDisposable &
  Readonly<{
    url: string;
    port: number;
    server: Server;
    /** Stops accepting, and leaves new connections to other processes on the same sockets; resolves when the accepted connections are closed. */
    stopAccepting: () => Promise<void>;
  }>;

/** A listener that can drain its clients; see {@link drainClients}. `leave` resolves when the clients' requests have ended and the clients have disconnected. */
export type DrainingListener = HttpListener & Readonly<{ leave: () => Promise<void> }>;

/**
 * Serves an application over HTTP/1.1.
 *
 * @throws {StartupError} when the port is in use or the address doesn't belong to this machine.
 */
export async function listenHttp(
  app: Readonly<{ fetch: (request: Request, env: never) => Response | Promise<Response> }>,
  options: ListenOptions,
): Promise<DrainingListener> {
  const serve = getRequestListener((request, env) => app.fetch(request, env as never));
  const server = createServer(
    {
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: Math.min(10_000, options.requestTimeoutMs),
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: Math.min(5_000, options.requestTimeoutMs),
    },
    (request, response) => {
      if (!hasOneHost(request)) {
        response.writeHead(400, { "Content-Type": "application/json", Connection: "close" });
        response.end(JSON.stringify({ error: "several Host headers; send one" }));
      } else if (options.servePost?.(request, response) !== true) void serve(request, response);
    },
  );
  limitChunks(server);
  let isLeaving = false;
  // Runs before the handlers, so that their responses include this header.
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    replaceTarget(request);
    if (isLeaving) response.setHeader("Connection", "close");
    else response.setHeader("Keep-Alive", `timeout=${requestedKeepAliveSeconds}`);
  });
  const { connections, isProxy, isTrustedProxy } = options;
  if (isProxy !== undefined) connections?.limitAddresses(server, isProxy);
  if (isTrustedProxy !== undefined) takeProxyHeaders(server, isTrustedProxy);
  connections?.limit(server);
  const listeningSockets = await listen(server, options);
  const leave = async () => {
    await drainClients(listeningSockets, {
      begin: () => (isLeaving = true),
      hasClients: () => connections?.size !== 0,
      idleMs: keepAliveMs + marginMs,
      pause,
    });
    await listeningSockets[Symbol.asyncDispose]();
  };
  return { ...listeningSockets, leave };
}

/** Idle timeout: longer than the minute that most proxies use, so that none sends a request on a closing connection. */
const keepAliveMs = 65_000;
/** Keep-alive timeout sent to clients, in seconds: in a hot restart, the old process waits until they have closed all connections. */
const requestedKeepAliveSeconds = 5;
/** Node closes an idle connection a second later than announced. */
const marginMs = 2_000;

/** How long, in a hot restart, the old process keeps serving new connections as usual while their request is still arriving. */
const newcomersMs = 1_000;

/**
 * Drains a listener's clients before its idle connections are closed, so that no request arrives on a closing connection. After `begin`,
 * every response tells its client to close the connection, and a connection may stay idle for `idleMs`.
 */
export async function drainClients(
  { stopAccepting }: Pick<HttpListener, "stopAccepting">,
  options: Readonly<{ begin: () => void; hasClients: () => boolean; idleMs: number; pause: Pause }>,
): Promise<void> {
  const { begin, hasClients, idleMs, pause: wait } = options;
  const over = new AbortController();
  const pendingCloses: Promise<void>[] = [];
  if (getSocketExchange().isHandedOver()) {
    // The next process accepts new connections from now on; those accepted just before are served as usual.
    pendingCloses.push(stopAccepting());
    await wait(newcomersMs);
  }
  begin();
  if (!hasClients()) return;
  await Promise.race([...pendingCloses, wait(idleMs, over.signal)]);
  over.abort();
}

/** Starts any `node:http` server at the address in the options; see {@link listenHttp}. */
export async function listen(server: Server, options: Omit<ListenOptions, "requestTimeoutMs">): Promise<HttpListener> {
  const { host, port, setting, connections } = options;
  const name = `${setting} ${formatAuthority(host, port)}`;
  const listeningSockets = await listenOnSockets(server, {
    name,
    host,
    port,
    sockets: chooseSocketCount(connections),
  }).catch((error: unknown) => {
    throw explainListenFailure(error as NodeJS.ErrnoException, options);
  });
  return {
    url: `http://${formatAuthority(host, listeningSockets.port)}`,
    port: listeningSockets.port,
    server,
    stopAccepting: listeningSockets.stopAccepting,
    [Symbol.asyncDispose]: () => close(server, listeningSockets, connections),
  };
}

/** Number of sockets per busy listener; more sockets didn't shorten the wait for new connections. */
const socketsMax = 16;
/** Number of connections per listening socket. Each socket uses a file descriptor, so a listener with a low limit, or for operators, has a single socket. */
const connectionsOfSocket = 32;

function chooseSocketCount(connections: ListenerConnections | undefined): number {
  if (connections === undefined) return 1;
  return Math.max(1, Math.min(socketsMax, Math.floor(connections.max / connectionsOfSocket)));
}

function explainListenFailure(
  error: NodeJS.ErrnoException,
  { host, port, setting }: Omit<ListenOptions, "requestTimeoutMs">,
): Error {
  if (error.code === "EADDRINUSE") {
    return new StartupError(
      `port ${port} on ${host} is in use; stop the process that uses it (\`ss -ltnp 'sport = :${port}'\` shows it), or set ${setting} to another port.`,
    );
  }
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return new StartupError(
      `can't listen on ${host}: it is not an address of this machine; correct the host setting next to ${setting}.`,
    );
  }
  if (error.code === "EACCES") {
    return new StartupError(
      `no permission to listen on port ${port}; set ${setting} to a port above 1023, or grant CAP_NET_BIND_SERVICE.`,
    );
  }
  return error;
}

/** A connection whose last response was in flight when closing started stays open as keep-alive; it is closed once idle. */
const idleCheckIntervalMs = 20;

/** How long an incomplete request may continue after shutdown starts; then it gets a 408. */
const unfinishedMs = 1_000;

async function close(
  server: Server,
  listeningSockets: ListeningSockets,
  connections: ListenerConnections | undefined,
): Promise<void> {
  const beganMs = performance.now();
  const closeIdle = setInterval(() => {
    if (connections === undefined) server.closeIdleConnections();
    else connections.closeIdle({ unfinished: performance.now() - beganMs > unfinishedMs });
  }, idleCheckIntervalMs);
  try {
    const socketsClosed = listeningSockets.close();
    connections?.closeIdle({ unfinished: false });
    await socketsClosed;
  } finally {
    clearInterval(closeIdle);
  }
}
