/** What waits, by its caller: one of each caller's is taken after the other, whoever has how many. */
export class CallerRounds<Waiting> {
  /** In the order of turns: whoever's was taken last stands last. */
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

  /** Takes what is next; undefined when nothing waits. */
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
