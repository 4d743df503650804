/** A ticket in the queue, and its caller. */
type Waiting = Readonly<{ call: Readonly<{ caller: string }> }>;

/** Max waiting tickets, in total and per caller. */
export type QueueBounds = Readonly<{ queuedCalls: number; queuedCallsPerCaller: number }>;

/**
 * Calls waiting for a shared resource. Callers are served round-robin, and each caller's calls in order, so that a caller with a thousand
 * waiting calls delays another caller by only one of them. A ticket shared by several callers is in each caller's queue, and is served when
 * the first of these callers gets its turn.
 */
export class FairQueue<Ticket extends Waiting> {
  /** In round-robin order: the caller served last comes last. */
  readonly #byCaller = new Map<string, Set<Ticket>>();
  /** All waiting tickets, each with the callers whose queues contain it. */
  readonly #callersOf = new Map<Ticket, string | Set<string>>();

  get size(): number {
    return this.#callersOf.size;
  }

  /** Returns the number of tickets in a caller's queue. */
  sizeOf(caller: string): number {
    return this.#byCaller.get(caller)?.size ?? 0;
  }

  /** Checks whether the limits prevent a caller from adding a ticket. */
  isFull(caller: string, { queuedCalls, queuedCallsPerCaller }: QueueBounds): boolean {
    return this.size >= queuedCalls || this.sizeOf(caller) >= queuedCallsPerCaller;
  }

  /** Returns the first ticket in a caller's queue. */
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

  /** Removes and returns the next ticket in round-robin order whose caller may be served; the others keep their positions. */
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
