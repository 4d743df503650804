/** How long the work of one message goes on before everything else has its turn of the event loop; a step of it may take that longer. */
const turnMs = 2.5;
/** Work that is done in one turn whatever it takes: reads of a batch that begin in the same turn go to the node together. */
export const turnBytes = 16_384;

/** Time, and a later turn of the event loop. */
export type TurnSource = Readonly<{
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** Runs something in a later turn, after all that has come meanwhile. */
  later: (run: () => void) => void;
}>;

/** Work of several steps, cut into turns. */
export type Turns = Readonly<{
  /**
   * Makes a step again and again until it answers 0; else it answers how much it did, in bytes. When a turn's time is over the rest is left
   * for a later one; `isOver` ends it before that.
   */
  run: (step: () => number, isOver: () => boolean) => void;
}>;

/** Makes a source of turns. */
export function makeTurns({ now, later }: TurnSource): Turns {
  const run: Turns["run"] = (step, isOver) => {
    const endsAt = now() + turnMs;
    let doneBytes = 0;
    while (!isOver()) {
      const bytes = step();
      if (bytes === 0) return;
      doneBytes += bytes;
      if (doneBytes < turnBytes || now() < endsAt) continue;
      later(() => run(step, isOver));
      return;
    }
  };
  return { run };
}
