/** Time per event loop tick for deferrable work; a single step may exceed it. */
const turnMs = 1;
/** Max number of work items started in one tick, because part of their work, mostly more reads, runs after the tick. */
const perTurnMax = 8;

/** A monotonic clock, and a way to run functions in a later event loop tick. */
export type TurnSource = Readonly<{
  now: () => number;
  /** Runs a function in a later tick, after everything received by then has been processed. */
  later: (run: () => void) => void;
}>;

/**
 * Shares the thread's time among callers. Short single calls are served as they arrive. So is a caller's other work (pipelined calls in one
 * read, long messages, batches, long responses), until the tick's time, which all callers share, is used up. After that, each caller
 * without waiting work still gets one short call served in this tick, even if the caller has a hundred connections. The rest waits, and in
 * each tick one item per caller is served, round-robin. The code that queues the items limits their number: each connection waits at most
 * once, and is not read while it waits.
 */
export class SharedTurns {
  readonly #source: TurnSource;
  readonly #waiting = new CallerRounds<() => void>();
  /** Callers served in this tick after its time was over. */
  readonly #late = new Set<string>();
  #endsAt: number | undefined;

  constructor(source: TurnSource) {
    this.#source = source;
  }

  now(): number {
    return this.#source.now();
  }

  /** Returns whether this tick's time is over; the time starts at the first check. */
  isTickUsedUp(): boolean {
    if (this.#endsAt !== undefined) return this.#source.now() >= this.#endsAt;
    this.#begin();
    return false;
  }

  /** Returns whether a caller may start one more short call in this tick; if so, counts the call. */
  mayBegin(caller: string): boolean {
    if (!this.isTickUsedUp()) return true;
    if (this.#late.has(caller) || this.#waiting.has(caller)) return false;
    this.#late.add(caller);
    return true;
  }

  /** Continues a caller's work when its turn comes. */
  wait(caller: string, runNext: () => void): void {
    this.#waiting.add(caller, runNext);
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
    for (let servedCount = 0; servedCount < perTurnMax; servedCount += 1) {
      const runNext = this.#waiting.next();
      if (runNext === undefined) return;
      runNext();
      if (this.isTickUsedUp()) return;
    }
  }
}

/** Bytes of work done in one tick regardless of time: reads from a batch that start in the same tick go to the node together. */
export const turnBytes = 16_384;

/** Work in several steps, spread over ticks. */
export type Turns = Readonly<{
  /** Repeats a step, which returns the bytes it processed, until it returns 0 or `isDone`, over as many ticks as it takes. */
  run: (step: () => number, isDone: () => boolean) => void;
}>;

export function createTurns(turns: SharedTurns, caller: string): Turns {
  /** Continues when it is the caller's turn, however little time is left. */
  const runNext: Turns["run"] = (step, isDone) => {
    let doneBytes = 0;
    while (!isDone()) {
      const bytes = step();
      if (bytes === 0) return;
      doneBytes += bytes;
      if (doneBytes < turnBytes || !turns.isTickUsedUp()) continue;
      turns.wait(caller, () => runNext(step, isDone));
      return;
    }
  };
  // Work started by the node's responses is treated like work from clients: both wait when a tick's time is over.
  return {
    run: (step, isDone) =>
      turns.isTickUsedUp() ? turns.wait(caller, () => runNext(step, isDone)) : runNext(step, isDone),
  };
}

/** One connection's position in the queue for turns. */
export class PendingTurn {
  readonly #turns: SharedTurns;
  readonly #proceed: () => void;
  #isWaiting = false;

  /** `proceed` is called when the turn comes, even if the connection is closed by then. */
  constructor(turns: SharedTurns, runNext: () => void) {
    this.#turns = turns;
    this.#proceed = runNext;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Waits for the caller's next turn if this tick's time is over. Returns whether it waits. */
  waitIfOver(caller: () => string): boolean {
    if (this.#isWaiting) return true;
    if (!this.#turns.isTickUsedUp()) return false;
    this.#wait(caller());
    return true;
  }

  /** Waits for the caller's next turn before a short single call, if the caller may not start another in this tick. Returns whether it waits. */
  waitForTurn(caller: () => string): boolean {
    if (this.#isWaiting) return true;
    if (!this.#turns.isTickUsedUp() || this.#turns.mayBegin(caller())) return false;
    this.#wait(caller());
    return true;
  }

  #wait(caller: string): void {
    this.#isWaiting = true;
    this.#turns.wait(caller, () => {
      this.#isWaiting = false;
      this.#proceed();
    });
  }
}

/** Waiting work by caller, served round-robin: one item per caller, however many the caller has. */
export class CallerRounds<Waiting> {
  /** Work in round-robin order: the caller served last is at the end. */
  readonly #waiting = new Map<string, Waiting[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  has(caller: string): boolean {
    return this.#waiting.has(caller);
  }

  add(caller: string, nextWaiting: Waiting): void {
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [nextWaiting]);
    else own.push(nextWaiting);
  }

  /** Removes and returns the next item; returns undefined if nothing is waiting. */
  next(): Waiting | undefined {
    for (const [caller, own] of this.#waiting) {
      const nextWaiting = own.shift();
      this.#waiting.delete(caller);
      if (own.length > 0) this.#waiting.set(caller, own);
      return nextWaiting;
    }
    return undefined;
  }
}
