import type { SharedTurns } from "./shared-turns.ts";

/** Work that is done in one turn whatever it takes: reads of a batch that begin in the same turn go to the node together. */
export const turnBytes = 16_384;

/** Work of several steps, cut into turns. */
export type Turns = Readonly<{
  /**
   * Makes a step again and again until it answers 0; else it answers how much it did, in bytes. When a turn's time is over the rest is left
   * for a later one; `isOver` ends it before that.
   */
  run: (step: () => number, isOver: () => boolean) => void;
}>;

/** Creates turns of one caller's work. */
export function createTurns(turns: SharedTurns, caller: string): Turns {
  /** Whoever's turn has come goes on, however little of it is left. */
  const goOn: Turns["run"] = (step, isOver) => {
    let doneBytes = 0;
    while (!isOver()) {
      const bytes = step();
      if (bytes === 0) return;
      doneBytes += bytes;
      if (doneBytes < turnBytes || !turns.isOver()) continue;
      turns.wait(caller, () => goOn(step, isOver));
      return;
    }
  };
  const run: Turns["run"] = (step, isOver) => {
    // What the node's answers start again is work like what clients send: both wait when a turn's time is over.
    if (turns.isOver()) turns.wait(caller, () => goOn(step, isOver));
    else goOn(step, isOver);
  };
  return { run };
}
