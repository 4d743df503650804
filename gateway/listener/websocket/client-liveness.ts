import type { WebSocket } from "ws";

/** Whether a client is there, found out by pings. */
export type ClientLiveness = Readonly<{
  /** It answered. */
  heard: () => void;
  /** Asks whether it is there; drops it when the last question had no answer. */
  ping: () => void;
}>;

/** What the watch over a client knows of it, and whom it tells before the client is let go. */
export type ClientLivenessDependencies = Readonly<{ unsentBytes: () => number; droppedAsSilent: () => void }>;

/** Makes the watch over one client. */
export function watchLiveness(
  socket: WebSocket,
  { unsentBytes: unsent, droppedAsSilent }: ClientLivenessDependencies,
): ClientLiveness {
  const state = { isAlive: true, unsentBytes: 0 };
  return {
    heard: () => {
      state.isAlive = true;
    },
    ping: () => {
      const unsentBytes = unsent();
      // A client that is not read from can't be heard. That it takes what was sent shows that it is there.
      const isExcused = socket.isPaused && (unsentBytes === 0 || unsentBytes < state.unsentBytes);
      state.unsentBytes = unsentBytes;
      if (!state.isAlive && !isExcused) {
        droppedAsSilent();
        socket.terminate();
        return;
      }
      state.isAlive = false;
      if (socket.readyState === socket.OPEN) socket.ping();
    },
  };
}
