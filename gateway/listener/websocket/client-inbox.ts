import type { WebSocket } from "ws";
import { type SharedTurns, TurnWait } from "../../wire/shared-turns.ts";
import type { ConnectedClient } from "./connected-client.ts";

/** Messages of one client, accepted one by one as the limits on messages and responses allow. */
export type ClientInbox = Readonly<{
  received: (message: Buffer) => void;
  /** Continues if the limits allow it again. */
  resume: () => void;
}>;

/** Socket and message handler, and the limits on messages. */
export type ClientInboxDependencies = Readonly<{
  socket: Pick<WebSocket, "pause" | "resume" | "isPaused">;
  mayHandle: () => boolean;
  handle: (message: Buffer) => void;
  turns: SharedTurns;
  /** Key of the caller against which scheduling rounds are counted. */
  caller: string;
  /** Whether no more messages are accepted. If so, the inbox neither pauses nor resumes the socket. */
  isLeaving: () => boolean;
}>;

/** Creates an inbox. While no message may be accepted, the socket is paused, so that at most the messages of one read wait here. */
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
    // A message that is answered synchronously re-enters this function; the loop then sees its changes.
    if (isRunning || turn.isWaiting) return;
    isRunning = true;
    let mayBegin = isOwnTurn;
    while (waiting.length > 0 && mayHandle() && (mayBegin || !turn.waitToBegin(ofCaller))) {
      mayBegin = false;
      const message = waiting.shift();
      if (message === undefined) break;
      handle(message);
      // Messages are delivered one by one, even those from a single read: only the clock reveals how many there are.
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
    resume: () => goOn(false),
  };
}

/** Size from which the bytes of an incomplete message count as buffered. */
const smallBytes = 16_384;
/** Close code for a client that may retry later (IANA WebSocket close code registry). */
const tryAgainLater = 1013;
/** Timeout for the client's close frame. Until then, bytes that the client sends are buffered but not counted. */
const goneWithinMs = 1_000;

/** Byte count of an incomplete message. */
export type PartialMessages = Readonly<{ whole: () => void }>;

/** Counts the bytes of an incomplete message that the WebSocket buffers. A client whose message exceeds the memory limit is closed with 1013. */
export function countPartialMessages({
  socket,
  connection,
  memory,
}: Pick<ConnectedClient, "socket" | "connection" | "memory">): PartialMessages {
  let bytes = 0;
  let held = 0;
  // Runs before the WebSocket's own listener, so that the piece that completes a message is counted first and then reset with that message.
  connection.prependListener("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= smallBytes) return;
    if (memory.tryAcquire(bytes - held)) {
      memory.waits(bytes - held);
      held = bytes;
    } else if (socket.readyState === socket.OPEN) {
      socket.close(tryAgainLater, "too much is buffered; try again later");
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
