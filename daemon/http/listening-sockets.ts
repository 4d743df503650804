import type { Server } from "node:http";
import { createServer, Server as NetServer, type AddressInfo, type ListenOptions } from "node:net";
import { limitLines, defaultBound } from "../log/bounded-log.ts";
import { getSocketExchange, type SocketHandle } from "../hot-restart/socket-exchange.ts";
import { copyConnectionFilter, findListeningSocket } from "./raw-connections.ts";

export type ListenAddress = Readonly<{
  /** Identifies the listener: in a hot restart, the new process inherits the sockets of the listener with this name. */
  name: string;
  host: string;
  /** Port to listen on; 0 picks a free one. */
  port: number;
  sockets: number;
}>;

export type ListeningSockets = Readonly<{
  port: number;
  /** Stops accepting connections, but leaves accepted ones open; resolves once they are closed. */
  stopAccepting: () => Promise<void>;
  /** Stops accepting connections, and waits until all accepted ones are closed. */
  close: () => Promise<void>;
}>;

/** Options that node:http uses for its own connections. */
const httpSocketOptions = { allowHalfOpen: true, noDelay: true };

/**
 * Makes a `node:http` server accept connections over several sockets on one port. An event loop accepts one connection per socket and tick,
 * however many are waiting. With ticks of 10 ms and one socket, that is a hundred connections per second: the kernel's queue fills, and a
 * new connection waits for seconds. The kernel distributes connections among the sockets (SO_REUSEPORT, socket(7)), each of which has its
 * own queue. A system without support (macOS) uses one socket.
 *
 * @throws {NodeJS.ErrnoException} if it can't listen, e.g. EADDRINUSE; nothing is listening in that case.
 */
export async function listenOnSockets(
  server: Server,
  { name, host, port, sockets }: ListenAddress,
): Promise<ListeningSockets> {
  const inheritedSockets = getSocketExchange().acquire(name);
  if (inheritedSockets.length > 0) return await listenOnInherited(server, inheritedSockets);
  if (sockets > 1 && port !== 0) await checkIsFree(host, port);
  await using begun = new AsyncDisposableStack();
  const begin = async <S extends NetServer>(
    one: S,
    where: Readonly<{ host: string; port: number; reusePort: boolean }>,
  ) => {
    await startListening(one, where);
    begun.defer(() => closeServer(one));
    return one;
  };
  const socketCount = await begin(server, { host, port, reusePort: sockets > 1 }).then(
    () => sockets,
    async (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "ENOTSUP") throw error;
      await begin(server, { host, port, reusePort: false });
      return 1;
    },
  );
  const at = server.address() as AddressInfo;
  const acceptors: NetServer[] = [server];
  while (acceptors.length < socketCount) {
    acceptors.push(await begin(createAcceptor(server), { host: at.address, port: at.port, reusePort: true }));
  }
  begun.move();
  for (const one of acceptors) getSocketExchange().offer(name, findListeningSocket(one));
  return describeSockets(at.port, acceptors);
}

function describeSockets(port: number, acceptors: readonly NetServer[]): ListeningSockets {
  const closePromises = new Map<NetServer, Promise<void>>();
  return {
    port,
    stopAccepting: async () => {
      // Calls the base class's close: node:http's would also close currently idle connections.
      for (const one of acceptors) closePromises.set(one, closeServer(one, NetServer.prototype.close));
      await Promise.all(closePromises.values());
    },
    close: async () => void (await Promise.all(acceptors.map((one) => closePromises.get(one) ?? closeServer(one)))),
  };
}

/** Listens on all inherited sockets, regardless of the configured number, because the kernel distributes connections to each of them. */
async function listenOnInherited(server: Server, inheritedSockets: readonly SocketHandle[]): Promise<ListeningSockets> {
  const acceptors = inheritedSockets.map((_, index) => (index === 0 ? server : createAcceptor(server)));
  await using begun = new AsyncDisposableStack();
  for (const [index, one] of acceptors.entries()) {
    await startListening(one, inheritedSockets[index] ?? {});
    begun.defer(() => closeServer(one));
  }
  begun.move();
  return describeSockets((server.address() as AddressInfo).port, acceptors);
}

/** Creates a server that accepts connections for another server. */
function createAcceptor(server: Server): NetServer {
  const acceptor = createServer(httpSocketOptions, (socket) => server.emit("connection", socket));
  copyConnectionFilter(acceptor, server);
  return acceptor;
}

/**
 * Fails if anything is listening on the port. The kernel silently shares a reusable port among all processes of the same user that request
 * sharing, so two Gatehouses would each get some of the connections. Therefore the port is first opened exclusively; the only remaining
 * race is two starts within the same millisecond. Port 0 needs no check, because the kernel assigns only unused ports.
 */
async function checkIsFree(host: string, port: number): Promise<void> {
  const probe = createServer((socket) => socket.destroy());
  await startListening(probe, { host, port, exclusive: true });
  await closeServer(probe);
}

function closeServer(server: NetServer, close = server.close): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => (error === undefined ? resolve() : reject(error));
    Reflect.apply(close, server, [done]);
  });
}

/**
 * Makes a server listen, and handles its errors for its lifetime: the server continues if it can't accept a connection because no
 * descriptor or buffer is left. Without a handler, Node would exit on the error event.
 *
 * @throws {NodeJS.ErrnoException} if it can't listen, e.g. EADDRINUSE; the same server may retry.
 */
export async function startListening(server: NetServer, where: ListenOptions | SocketHandle): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onListening = () => {
      server.off("error", onError);
      const warn = limitLines(defaultBound, (omitted) => {
        process.emitWarning(`${omitted} more connections could not be accepted, for similar reasons`);
      });
      server.on("error", (error) => warn(() => process.emitWarning(error)));
      resolve();
    };
    const onError = (error: Error) => {
      server.off("listening", onListening);
      reject(error);
    };
    server.once("error", onError);
    server.once("listening", onListening);
    server.listen(where);
  });
}
