import type { SharedTurns } from "../wire/shared-turns.ts";

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

/** Makes turns of one caller's work. */
export function makeTurns(turns: SharedTurns, caller: string): Turns {
  const run: Turns["run"] = (step, isOver) => {
    // The steps of this piece count towards the turn, also where it is the first.
    turns.isOver();
    let doneBytes = 0;
    while (!isOver()) {
      const bytes = step();
      if (bytes === 0) return;
      doneBytes += bytes;
      if (doneBytes < turnBytes || !turns.isOver()) continue;
      turns.wait(caller, () => run(step, isOver));
      return;
    }
  };
  return { run };
}
