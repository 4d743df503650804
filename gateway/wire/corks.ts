import type { Socket } from "node:net";

/** Most sockets that are held back at a time. */
const socketsMost = 128;

/** Holds back what is written to sockets until the event loop has read what had come, and then writes it together: what an `Outbox` is for node:http. */
export type Corks = Readonly<{ add: (socket: Socket) => void }>;

/** Creates corks for sockets of which none is held back yet. */
export function createCorks(): Corks {
  const sockets = new Set<Socket>();
  let isArmed = false;
  const release = () => {
    for (const socket of sockets) socket.uncork();
    sockets.clear();
  };
  return {
    add: (socket) => {
      if (sockets.has(socket)) return;
      if (sockets.size >= socketsMost) release();
      socket.cork();
      sockets.add(socket);
      if (isArmed) return;
      isArmed = true;
      setImmediate(() => {
        isArmed = false;
        release();
      });
    },
  };
}
