import type { WebSocket } from "ws";

/** Messages of one client, taken one after another as there is room for them and for their answers. */
export type ClientInbox = Readonly<{
  received: (message: Buffer) => void;
  /** There may be room again. */
  goOn: () => void;
}>;

/** How messages are taken, and whether one may be now. */
export type ClientInboxDependencies = Readonly<{
  socket: Pick<WebSocket, "pause" | "resume" | "isPaused">;
  mayTake: () => boolean;
  take: (message: Buffer) => void;
}>;

/**
 * Makes an inbox. While no message may be taken the client is not read from, so that what waits here is no more than was read at
 * once already.
 */
export function makeClientInbox({ socket, mayTake, take }: ClientInboxDependencies): ClientInbox {
  const waiting: Buffer[] = [];
  let isRunning = false;
  const goOn = () => {
    // A message that is answered at once calls back into here; the loop sees what it changed.
    if (isRunning) return;
    isRunning = true;
    while (mayTake()) {
      const message = waiting.shift();
      if (message === undefined) break;
      take(message);
    }
    isRunning = false;
    if (!mayTake()) socket.pause();
    else if (socket.isPaused) socket.resume();
  };
  return {
    received: (message) => {
      waiting.push(message);
      goOn();
    },
    goOn,
  };
}
