import { CallerRounds } from "./caller-rounds.ts";

/** Time of one turn of the event loop that goes to work which may wait; a step of it may take that longer. */
const turnMs = 2.5;
/** Most pieces of work that begin in one turn: what some of them do, reading on above all, is done after it. */
const mostInTurn = 16;

/** Time, and a later turn of the event loop. */
export type TurnSource = Readonly<{
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** Runs something in a later turn, after all that has come meanwhile. */
  later: (run: () => void) => void;
}>;

/**
 * Shares the thread's time out by callers. Short calls alone are answered as they come, and so is what a caller sends or gets alongside them
 * (calls behind one another in one read, long messages, batches, long answers), until the time of a turn is over, of all callers together.
 * After that one short call of each caller is still answered in this turn, of those that have nothing waiting; a caller with a hundred
 * connections has one, too. What is left waits, and in each turn one piece of each caller's is served after the other. Who waits is bounded by
 * whoever makes it wait: each connection waits once, and is not read meanwhile.
 */
export class SharedTurns {
  readonly #source: TurnSource;
  readonly #waiting = new CallerRounds<() => void>();
  /** Who was served in this turn after its time was over. */
  readonly #late = new Set<string>();
  #endsAt: number | undefined;

  constructor(source: TurnSource) {
    this.#source = source;
  }

  now(): number {
    return this.#source.now();
  }

  /** Whether this turn's time is over; it counts from the first look. */
  isOver(): boolean {
    if (this.#endsAt !== undefined) return this.#source.now() >= this.#endsAt;
    this.#begin();
    return false;
  }

  /** Whether a caller may still have something short done in this turn, which is then done. */
  mayBegin(caller: string): boolean {
    if (!this.isOver()) return true;
    if (this.#late.has(caller) || this.#waiting.has(caller)) return false;
    this.#late.add(caller);
    return true;
  }

  /** Goes on with a caller's work when its turn has come. */
  wait(caller: string, goOn: () => void): void {
    this.#waiting.add(caller, goOn);
    if (this.#endsAt === undefined) this.#begin();
  }

  #begin(): void {
    this.#endsAt = this.#source.now() + turnMs;
    if (this.#late.size > 0) this.#late.clear();
    this.#source.later(() => this.#serve());
  }

  #serve(): void {
    this.#endsAt = undefined;
    if (this.#waiting.isEmpty) return;
    this.#begin();
    for (let served = 0; served < mostInTurn; served += 1) {
      const goOn = this.#waiting.next();
      if (goOn === undefined) return;
      goOn();
      if (this.isOver()) return;
    }
  }
}

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

/** One connection's place among those that wait for their turn. */
export class TurnWait {
  readonly #turns: SharedTurns;
  readonly #goOn: () => void;
  #isWaiting = false;

  /** `goOn` is called when the turn has come, whatever became of the connection meanwhile. */
  constructor(turns: SharedTurns, goOn: () => void) {
    this.#turns = turns;
    this.#goOn = goOn;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Waits for one of the caller's turns when the time of this one is over. Answers whether it waits. */
  waitIfOver(caller: () => string): boolean {
    if (this.#isWaiting) return true;
    if (!this.#turns.isOver()) return false;
    this.#wait(caller());
    return true;
  }

  /** Waits for one of the caller's turns before something short that came alone, if the caller may have no more in this one. Answers whether it waits. */
  waitToBegin(caller: () => string): boolean {
    if (this.#isWaiting) return true;
    if (!this.#turns.isOver()) return false;
    const key = caller();
    if (this.#turns.mayBegin(key)) return false;
    this.#wait(key);
    return true;
  }

  #wait(caller: string): void {
    this.#isWaiting = true;
    this.#turns.wait(caller, () => {
      this.#isWaiting = false;
      this.#goOn();
    });
  }
}
