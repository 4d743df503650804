/** A listening socket as Node passes it between processes; connections wait in its queue as long as a process holds it. */
export type SocketHandle = Readonly<{ close: () => void }>;

export type SocketExchange = Readonly<{
  /** Returns the inherited sockets of that name, once. */
  acquire: (name: string) => readonly SocketHandle[];
  offer: (name: string, handle: SocketHandle) => void;
  /** Whether another process listens on this process's sockets, or is about to do so. */
  isHandedOver: () => boolean;
}>;

/** A process has one exchange, which is global because listeners are created far below the code that handles hot restarts. */
const current: { exchange: SocketExchange } = {
  exchange: { acquire: () => [], offer: () => undefined, isHandedOver: () => false },
};

/** Makes this process's listeners inherit their sockets from an exchange, and pass them on through it. */
export function setSocketExchange(exchange: SocketExchange): void {
  current.exchange = exchange;
}

/** Returns this process's exchange; without hot restarts, returns one without sockets. */
export function getSocketExchange(): SocketExchange {
  return current.exchange;
}
