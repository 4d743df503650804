import type { WebSocket } from "ws";
import { type SharedTurns, TurnWait } from "../../wire/shared-turns.ts";
import type { ConnectedClient } from "./connected-client.ts";

/** Messages of one client, accepted one by one as the limits on messages and responses allow. */
export type ClientInbox = Readonly<{
  received: (message: Buffer) => void;
  /** Continues if the limits allow it again. */
  goOn: () => void;
}>;

/** Socket and handler of the messages, and their limits. */
export type ClientInboxDependencies = Readonly<{
  socket: Pick<WebSocket, "pause" | "resume" | "isPaused">;
  mayHandle: () => boolean;
  handle: (message: Buffer) => void;
  turns: SharedTurns;
  /** Key of the caller that the rounds are counted for. */
  caller: string;
  /** Whether no more messages are accepted: from then on the inbox neither pauses nor resumes the socket. */
  isLeaving: () => boolean;
}>;

/** Creates an inbox. While no message may be accepted the socket is paused, so that at most one read's messages wait here. */
export function createClientInbox({
  socket,
  mayHandle,
  handle,
  turns,
  caller,
  isLeaving,
}: ClientInboxDependencies): ClientInbox {
  const waiting: Buffer[] = [];
  let isRunning = false;
  const ofCaller = () => caller;
  const turn = new TurnWait(turns, () => {
    if (!isLeaving()) goOn(true);
  });
  const goOn = (isOwnTurn: boolean) => {
    // A message that is answered synchronously re-enters this function; the loop sees its changes.
    if (isRunning || turn.isWaiting) return;
    isRunning = true;
    let mayBegin = isOwnTurn;
    while (waiting.length > 0 && mayHandle() && (mayBegin || !turn.waitToBegin(ofCaller))) {
      mayBegin = false;
      const message = waiting.shift();
      if (message === undefined) break;
      handle(message);
      // Messages are delivered one by one, even those of a single read: only the clock reveals how many there are.
      turn.waitIfOver(ofCaller);
    }
    isRunning = false;
    if (turn.isWaiting || !mayHandle()) socket.pause();
    else if (socket.isPaused) socket.resume();
  };
  return {
    received: (message) => {
      waiting.push(message);
      goOn(false);
    },
    goOn: () => goOn(false),
  };
}

/** Size from which the bytes of an unfinished message count as buffered. */
const smallBytes = 16_384;
/** Close code for a client that may retry later (IANA's registry of WebSocket close codes). */
const tryAgainLater = 1013;
/** Timeout for the client's close frame: bytes it sends meanwhile are buffered but not counted. */
const goneWithinMs = 1_000;

/** Byte count of an incomplete message. */
export type PartialMessages = Readonly<{ whole: () => void }>;

/** Counts the bytes that the WebSocket buffers of an incomplete message; a client whose message exceeds the memory limit is closed with 1013. */
export function holdPartialMessages({
  socket,
  connection,
  memory,
}: Pick<ConnectedClient, "socket" | "connection" | "memory">): PartialMessages {
  let bytes = 0;
  let held = 0;
  // Before the WebSocket's own listener, so that the piece that completes a message is counted, and reset with it.
  connection.prependListener("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= smallBytes) return;
    if (memory.tryAcquire(bytes - held)) {
      memory.waits(bytes - held);
      held = bytes;
    } else if (socket.readyState === socket.OPEN) {
      socket.close(tryAgainLater, "too much is held in memory; try again later");
      setTimeout(() => socket.terminate(), goneWithinMs).unref();
    }
  });
  return {
    whole: () => {
      memory.release(held);
      memory.waits(-held);
      bytes = 0;
      held = 0;
    },
  };
}
