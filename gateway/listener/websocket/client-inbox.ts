import type { WebSocket } from "ws";
import { type SharedTurns, TurnWait } from "../../wire/shared-turns.ts";
import type { ConnectedClient } from "./connected-client.ts";

/** Messages of one client, taken one after another as there is room for them and for their answers. */
export type ClientInbox = Readonly<{
  received: (message: Buffer) => void;
  /** Continues if there is room again. */
  goOn: () => void;
}>;

/** Socket and handler of the messages, and their bounds. */
export type ClientInboxDependencies = Readonly<{
  socket: Pick<WebSocket, "pause" | "resume" | "isPaused">;
  mayHandle: () => boolean;
  handle: (message: Buffer) => void;
  turns: SharedTurns;
  /** Key of the caller whose turns they are. */
  caller: string;
  /** Whether no more messages are taken: from then on the inbox neither pauses nor resumes the socket. */
  isLeaving: () => boolean;
}>;

/**
 * Creates an inbox. While no message may be taken the client is not read from, so that no more waits here than one read
 * brought.
 */
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
    // A message that is answered at once calls back into here; the loop sees what it changed.
    if (isRunning || turn.isWaiting) return;
    isRunning = true;
    let mayBegin = isOwnTurn;
    while (waiting.length > 0 && mayHandle() && (mayBegin || !turn.waitToBegin(ofCaller))) {
      mayBegin = false;
      const message = waiting.shift();
      if (message === undefined) break;
      handle(message);
      // Messages come one by one, also those of one read: only the clock shows how many there are.
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

/** Bytes of an unfinished message from which they count as held. */
const smallBytes = 16_384;
/** Close code of a client that may come back later (IANA's registry of WebSocket close codes). */
const tryAgainLater = 1013;
/** Time in which it may answer the close: what it sends meanwhile is kept and counts for nobody. */
const goneWithinMs = 1_000;

/** Count of the bytes of a message that is not whole. */
export type PartialMessages = Readonly<{ whole: () => void }>;

/** Counts the bytes that the WebSocket keeps of a message until it is whole; a client whose message may not be held is closed with 1013. */
export function holdPartialMessages({
  socket,
  connection,
  memory,
}: Pick<ConnectedClient, "socket" | "connection" | "memory">): PartialMessages {
  let bytes = 0;
  let held = 0;
  // Before the WebSocket's own listener: what completes a message is counted, and forgotten with it.
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
