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

  add(caller: string, waiting: Waiting): void {
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [waiting]);
    else own.push(waiting);
  }

  /** Removes and returns the next item; returns undefined if nothing is waiting. */
  next(): Waiting | undefined {
    for (const [caller, own] of this.#waiting) {
      const waiting = own.shift();
      this.#waiting.delete(caller);
      if (own.length > 0) this.#waiting.set(caller, own);
      return waiting;
    }
    return undefined;
  }
}
