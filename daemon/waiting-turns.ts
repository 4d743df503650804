/** Something that waits for its turn, and its caller. */
type Waiting = Readonly<{ call: Readonly<{ caller: string }> }>;

/** Most tickets that wait, in all and in one caller's queue. */
export type QueueBounds = Readonly<{ queuedCalls: number; queuedCallsPerCaller: number }>;

/**
 * Calls that wait for something that all callers share. Callers are served by turns and each caller's calls in their order, so that a caller
 * with a thousand calls waiting delays another by one of them. What several callers wait for stands in the queue of each, and is served at the
 * earliest of their turns.
 */
export class WaitingTurns<Ticket extends Waiting> {
  /** In the order of turns: whoever was served last stands last. */
  readonly #byCaller = new Map<string, Set<Ticket>>();
  /** All that wait, each with the callers in whose queues it stands. */
  readonly #callersOf = new Map<Ticket, string | Set<string>>();

  get size(): number {
    return this.#callersOf.size;
  }

  /** Number of tickets that wait in one caller's queue. */
  sizeOf(caller: string): number {
    return this.#byCaller.get(caller)?.size ?? 0;
  }

  /** Whether a caller may not add a ticket. */
  isFull(caller: string, { queuedCalls, queuedCallsPerCaller }: QueueBounds): boolean {
    return this.size >= queuedCalls || this.sizeOf(caller) >= queuedCallsPerCaller;
  }

  /** Returns the first in one caller's queue. */
  first(caller: string): Ticket | undefined {
    return this.#byCaller.get(caller)?.values().next().value;
  }

  has(ticket: Ticket): boolean {
    return this.#callersOf.has(ticket);
  }

  add(ticket: Ticket): void {
    const { caller } = ticket.call;
    this.#callersOf.set(ticket, caller);
    this.#stand(ticket, caller);
  }

  /** Adds a waiting ticket to another caller's queue as well. */
  join(ticket: Ticket, caller: string): void {
    const callers = this.#callersOf.get(ticket);
    if (callers === undefined || callers === caller) return;
    if (typeof callers === "string") this.#callersOf.set(ticket, new Set([callers, caller]));
    else callers.add(caller);
    this.#stand(ticket, caller);
  }

  delete(ticket: Ticket): void {
    const callers = this.#callersOf.get(ticket);
    if (callers === undefined) return;
    this.#callersOf.delete(ticket);
    for (const caller of typeof callers === "string" ? [callers] : callers) {
      const own = this.#byCaller.get(caller);
      own?.delete(ticket);
      if (own?.size === 0) this.#byCaller.delete(caller);
    }
  }

  /** Takes out the next in turn of those whose callers may be served; the others keep their turns. */
  next(mayServe: (caller: string) => boolean): Ticket | undefined {
    for (const [caller, own] of this.#byCaller) {
      if (!mayServe(caller)) continue;
      const [ticket] = own;
      if (ticket === undefined) continue;
      this.delete(ticket);
      this.#byCaller.delete(caller);
      if (own.size > 0) this.#byCaller.set(caller, own);
      return ticket;
    }
    return undefined;
  }

  [Symbol.iterator](): IterableIterator<Ticket> {
    return this.#callersOf.keys();
  }

  #stand(ticket: Ticket, caller: string): void {
    const own = this.#byCaller.get(caller);
    if (own === undefined) this.#byCaller.set(caller, new Set([ticket]));
    else own.add(ticket);
  }
}
