import { CallerRounds } from "./caller-rounds.ts";

/** Time of one turn of the event loop that goes to work which may wait; a step of it may take that longer. */
const turnMs = 1;
/** Most pieces of work that begin in one turn: part of their work, above all reading on, is done after it. */
const mostInTurn = 8;

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
 * connections has one, too. The rest waits, and in each turn one piece of each caller's is served after the other. The number of waiting
 * pieces is bounded by whoever makes them wait: each connection waits once, and is not read meanwhile.
 */
export class SharedTurns {
  readonly #source: TurnSource;
  readonly #waiting = new CallerRounds<() => void>();
  /** Callers that were served in this turn after its time was over. */
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

  /** Whether a caller may still have something short done in this turn; true counts it as done. */
  mayBegin(caller: string): boolean {
    if (!this.isOver()) return true;
    if (this.#late.has(caller) || this.#waiting.has(caller)) return false;
    this.#late.add(caller);
    return true;
  }

  /** Continues a caller's work in its turn. */
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

/** Bytes of work that are done in one turn whatever they take: reads of a batch that begin in the same turn go to the node together. */
export const turnBytes = 16_384;

/** Work of several steps, cut into turns. */
export type Turns = Readonly<{
  /**
   * Runs a step again and again until it returns 0; else it returns how much it did, in bytes. When a turn's time is over the rest is left
   * for a later one; `isOver` ends it before that.
   */
  run: (step: () => number, isOver: () => boolean) => void;
}>;

/** Creates turns of one caller's work. */
export function createTurns(turns: SharedTurns, caller: string): Turns {
  /** Continues in a caller's turn, however little of it is left. */
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

  /** `goOn` is called in the turn, even if the connection is gone by then. */
  constructor(turns: SharedTurns, goOn: () => void) {
    this.#turns = turns;
    this.#goOn = goOn;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Waits for one of the caller's turns if the time of this one is over. Returns whether it waits. */
  waitIfOver(caller: () => string): boolean {
    if (this.#isWaiting) return true;
    if (!this.#turns.isOver()) return false;
    this.#wait(caller());
    return true;
  }

  /**
   * Waits for one of the caller's turns before something short that came alone, if the caller may have no more in this one. Returns whether it
   * waits.
   */
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
