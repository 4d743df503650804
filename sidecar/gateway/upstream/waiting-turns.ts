/** What waits for its turn, and for whom. */
type Waiting = Readonly<{ call: Readonly<{ caller: string }> }>;

/**
 * What waits for the node's connections. Its callers are served by turns and each caller's calls in their order, so that a caller with a
 * thousand calls waiting delays another by one of them.
 */
export class WaitingTurns<Ticket extends Waiting> {
  /** In the order of turns: whoever was served last stands last. */
  readonly #byCaller = new Map<string, Set<Ticket>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many wait of one caller. */
  sizeOf(caller: string): number {
    return this.#byCaller.get(caller)?.size ?? 0;
  }

  add(ticket: Ticket): void {
    const { caller } = ticket.call;
    const own = this.#byCaller.get(caller);
    if (own === undefined) this.#byCaller.set(caller, new Set([ticket]));
    else own.add(ticket);
    this.#size += 1;
  }

  delete(ticket: Ticket): void {
    const { caller } = ticket.call;
    const own = this.#byCaller.get(caller);
    if (own?.delete(ticket) !== true) return;
    this.#size -= 1;
    if (own.size === 0) this.#byCaller.delete(caller);
  }

  /** Takes out the next in turn of those whose callers may be served; the others keep their turns. */
  next(mayServe: (caller: string) => boolean): Ticket | undefined {
    for (const [caller, own] of this.#byCaller) {
      if (!mayServe(caller)) continue;
      const [ticket] = own;
      if (ticket === undefined) continue;
      this.#byCaller.delete(caller);
      own.delete(ticket);
      this.#size -= 1;
      if (own.size > 0) this.#byCaller.set(caller, own);
      return ticket;
    }
    return undefined;
  }

  *[Symbol.iterator](): IterableIterator<Ticket> {
    for (const own of this.#byCaller.values()) yield* own;
  }
}
