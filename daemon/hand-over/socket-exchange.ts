/**
 * A listening socket of the operating system, as Node gives it from one process to another. As long as one process holds it, connections
 * wait in its queue, and none is refused.
 */
export type SocketHandle = Readonly<{ close: () => void }>;

/** Exchange of listening sockets between a process and those before and after it. */
export type SocketExchange = Readonly<{
  /** The sockets of that name that it was given; each is given once. */
  acquire: (name: string) => readonly SocketHandle[];
  /** Passes one on, for the process that comes after this one. */
  offer: (name: string, handle: SocketHandle) => void;
  /** Whether another process listens on the sockets of this one by now, or is about to. */
  isHandedOver: () => boolean;
}>;

/** One for the whole process, as its channel to its parent is: listeners are made far below whoever is handed over to. */
const current: { exchange: SocketExchange } = {
  exchange: { acquire: () => [], offer: () => undefined, isHandedOver: () => false },
};

/** Has the listeners of this process take their sockets from an exchange, and pass them on by it. */
export function setSocketExchange(exchange: SocketExchange): void {
  current.exchange = exchange;
}

/** Returns the exchange of this process; one without sockets if nothing is handed over. */
export function getSocketExchange(): SocketExchange {
  return current.exchange;
}
