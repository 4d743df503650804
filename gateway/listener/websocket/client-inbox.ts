import type { WebSocket } from "ws";
import { type SharedTurns, TurnWait } from "../../wire/shared-turns.ts";
import type { ConnectedClient } from "./connected-client.ts";

/** Messages of one client, taken one after another as there is room for them and for their answers. */
export type ClientInbox = Readonly<{
  received: (message: Buffer) => void;
  /** There may be room again. */
  goOn: () => void;
}>;

/** How messages are taken, and whether one may be now. */
export type ClientInboxDependencies = Readonly<{
  socket: Pick<WebSocket, "pause" | "resume" | "isPaused">;
  mayHandle: () => boolean;
  handle: (message: Buffer) => void;
  turns: SharedTurns;
  /** Whose turns they are. */
  caller: string;
  /** Whether no more messages are taken: how the client is read from then on is not the inbox's to say. */
  isLeaving: () => boolean;
}>;

/**
 * Creates an inbox. While no message may be taken the client is not read from, so that what waits here is no more than was read at
 * once already.
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

/** Bytes of a message that is not whole from which on they count as held. */
const smallBytes = 16_384;
/** Close code of a client that may come back later (IANA's registry of WebSocket close codes). */
const tryAgainLater = 1013;
/** Time in which it may answer the close: what it sends meanwhile is kept and counts for nobody. */
const goneWithinMs = 1_000;

/** What came of a message that is not whole. */
export type PartialMessages = Readonly<{ whole: () => void }>;

/** Counts what the WebSocket keeps of a message until it is whole; a client whose message may not be held is closed with 1013. */
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
