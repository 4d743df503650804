import type { WebSocket } from "ws";

/** Close code of a server that stops (RFC 6455, section 7.4.1). */
const goingAway = 1001;

/** A client's way out when the gateway stops: it is closed when the calls that it has under way are answered. */
export type GracefulClose = Readonly<{
  hasBegun: () => boolean;
  /** Reads nothing more of the client, and closes it when nothing is under way. */
  begin: (callsUnderWay: number) => void;
  /** Tells how many calls are still under way. */
  left: (callsUnderWay: number) => void;
  /** The client is gone by itself. */
  gone: () => void;
  /** Settles when the client is closed, or gone. */
  done: Promise<void>;
}>;

/** Creates the way out of one client; `afterAll` runs something once all that it was sent is written. */
export function createGracefulClose(socket: WebSocket, afterAll: (run: () => void) => void): GracefulClose {
  const { promise, resolve } = Promise.withResolvers<void>();
  let hasBegun = false;
  const left = (callsUnderWay: number) => {
    if (!hasBegun || callsUnderWay > 0) return;
    // The client's own part of the closing has to be read.
    socket.resume();
    afterAll(() => {
      socket.close(goingAway, "going away");
      resolve();
    });
  };
  return {
    hasBegun: () => hasBegun,
    begin: (callsUnderWay) => {
      hasBegun = true;
      socket.pause();
      left(callsUnderWay);
    },
    left,
    gone: resolve,
    done: promise,
  };
}
