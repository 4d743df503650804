import type { WebSocket } from "ws";
import type { SharedTurns } from "../../wire/shared-turns.ts";
import { TurnWait } from "../../wire/turn-wait.ts";

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
  mayTake,
  take,
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
    while (waiting.length > 0 && mayTake() && (mayBegin || !turn.waitToBegin(ofCaller))) {
      mayBegin = false;
      const message = waiting.shift();
      if (message === undefined) break;
      take(message);
      // Messages come one by one, also those of one read: only the clock tells how many there are.
      turn.waitIfOver(ofCaller);
    }
    isRunning = false;
    if (turn.isWaiting || !mayTake()) socket.pause();
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
