import type { Server } from "node:http";
import { createServer, Server as NetServer, type AddressInfo, type ListenOptions } from "node:net";
import { boundLines, defaultBound } from "../log/bounded-log.ts";
import { getSocketExchange, type SocketHandle } from "../hand-over/socket-exchange.ts";
import { admitAlike, findListeningSocket } from "./raw-connections.ts";

/** Address that a server listens on, and the number of its sockets. */
export type ListeningPlace = Readonly<{
  /** Names the listener: a process that is handed over to takes the sockets that the listener of this name had before. */
  name: string;
  host: string;
  /** 0 requests a free port. */
  port: number;
  sockets: number;
}>;

/** Address that a server listens on. */
export type ListeningSockets = Readonly<{
  port: number;
  /** Takes no more connections, and leaves those alone that were taken; resolves when these are closed. */
  stopTaking: () => Promise<void>;
  /** Takes no more connections, and waits until all that were taken are closed. */
  close: () => Promise<void>;
}>;

/** As node:http takes its own connections. */
const asHttpTakes = { allowHalfOpen: true, noDelay: true };

/**
 * Makes a `node:http` server take its connections over several sockets at one port. An event loop accepts one connection of each socket a
 * turn, whatever waits: with turns of 10 ms over one socket that is a hundred a second, the kernel's queue fills, and a newcomer waits for
 * seconds until it is connected. The kernel spreads connections over the sockets (SO_REUSEPORT, socket(7)), each with its own queue. A
 * system that can't do this (macOS) has one.
 *
 * @throws {NodeJS.ErrnoException} why it can't listen, e.g. EADDRINUSE; nothing listens then.
 */
export async function listenOnSockets(
  server: Server,
  { name, host, port, sockets }: ListeningPlace,
): Promise<ListeningSockets> {
  const handed = getSocketExchange().acquire(name);
  if (handed.length > 0) return await listenOnHanded(server, handed);
  if (sockets > 1 && port !== 0) await checkIsFree(host, port);
  await using begun = new AsyncDisposableStack();
  const begin = async <S extends NetServer>(
    one: S,
    where: Readonly<{ host: string; port: number; reusePort: boolean }>,
  ) => {
    await beginListening(one, where);
    begun.defer(() => closeServer(one));
    return one;
  };
  const inAll = await begin(server, { host, port, reusePort: sockets > 1 }).then(
    () => sockets,
    async (error: unknown) => {
      if (!isUnsupported(error)) throw error;
      await begin(server, { host, port, reusePort: false });
      return 1;
    },
  );
  const at = server.address() as AddressInfo;
  const taking: NetServer[] = [server];
  while (taking.length < inAll) {
    taking.push(await begin(createAcceptor(server), { host: at.address, port: at.port, reusePort: true }));
  }
  begun.move();
  for (const one of taking) getSocketExchange().offer(name, findListeningSocket(one));
  return describeSockets(at.port, taking);
}

function describeSockets(port: number, taking: readonly NetServer[]): ListeningSockets {
  const closing = new Map<NetServer, Promise<void>>();
  return {
    port,
    stopTaking: async () => {
      // By what every server does: node:http would end connections that are idle just now.
      for (const one of taking) closing.set(one, closeServer(one, NetServer.prototype.close));
      await Promise.all(closing.values());
    },
    close: async () => void (await Promise.all(taking.map((one) => closing.get(one) ?? closeServer(one)))),
  };
}

/** Listens on all sockets that were handed over, however many it would open itself: the kernel gives connections to each. */
async function listenOnHanded(server: Server, handed: readonly SocketHandle[]): Promise<ListeningSockets> {
  const taking = handed.map((_, index) => (index === 0 ? server : createAcceptor(server)));
  await using begun = new AsyncDisposableStack();
  for (const [index, one] of taking.entries()) {
    await beginListening(one, handed[index] ?? {});
    begun.defer(() => closeServer(one));
  }
  begun.move();
  return describeSockets((server.address() as AddressInfo).port, taking);
}

/** Takes connections for another server. */
function createAcceptor(server: Server): NetServer {
  const acceptor = createServer(asHttpTakes, (socket) => server.emit("connection", socket));
  admitAlike(acceptor, server);
  return acceptor;
}

/**
 * Fails as long as anybody listens there. A port that is shared is given to every process of the same user that wants to share it, without a
 * word, so that two Gatehouses would each get a part of the connections. It is looked at alone first: what is left is two that start within
 * the same millisecond. Port 0 needs no look, because the kernel gives none that somebody has.
 */
async function checkIsFree(host: string, port: number): Promise<void> {
  const probe = createServer((socket) => socket.destroy());
  await beginListening(probe, { host, port, exclusive: true });
  await closeServer(probe);
}

function isUnsupported(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOTSUP";
}

/** Closes a server, and waits until the connections that it took itself are closed. */
function closeServer(server: NetServer, close = server.close): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error) => (error === undefined ? resolve() : reject(error));
    Reflect.apply(close, server, [done]);
  });
}

/**
 * Makes a server listen, and listens to its errors for as long as it lives: one that can't take a connection, because no descriptor or
 * buffer is left, goes on without it. Node ends a process for an error that nobody listens to.
 *
 * @throws {NodeJS.ErrnoException} why it can't listen, e.g. EADDRINUSE; it may be tried again with the same server.
 */
export async function beginListening(server: NetServer, where: ListenOptions | SocketHandle): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onListening = () => {
      server.off("error", onError);
      const warn = boundLines(defaultBound, (omitted) => {
        process.emitWarning(`${omitted} more connections could not be taken, for reasons like the last ones`);
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
