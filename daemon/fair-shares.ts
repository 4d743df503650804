type KeyCount = { readonly key: string; count: number };

/** Counts by key; only keys with a count above 0 take memory. */
export class KeyCounts {
  readonly #counts = new Map<string, KeyCount>();

  get(key: string): number {
    return this.#counts.get(key)?.count ?? 0;
  }

  /** Increments a key's count, and returns it for `decrement`. */
  increase(key: string): KeyCount {
    const known = this.#counts.get(key);
    if (known === undefined) {
      const first = { key, count: 1 };
      this.#counts.set(key, first);
      return first;
    }
    known.count += 1;
    return known;
  }

  decrease(key: string): void {
    const known = this.#counts.get(key);
    if (known !== undefined) this.decrement(known);
  }

  decrement(counted: KeyCount): void {
    counted.count -= 1;
    if (counted.count === 0) this.#counts.delete(counted.key);
  }
}

const sharePerFree = 3;

/** A slot (a connection, an in-flight call), marked with its caller's count of slots. */
export type SharedSlot = { share?: KeyCount | undefined };

/**
 * Slots shared by callers, counted per caller. A caller that has more than three times as many slots as are free gets no more. A single
 * caller can thus use about three quarters of the slots, and two callers three sevenths each; some slots stay free, so that a new caller
 * need not wait for other callers' long responses. (The threshold follows the one that Choudhury and Hahne propose for buffers shared by
 * queues, "Dynamic queue length thresholds for shared-memory packet switches", 1998.)
 */
export class FairShares<Slot extends SharedSlot> {
  readonly #slots: number;
  readonly #byCaller = new KeyCounts();
  #taken = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  get free(): number {
    return this.#slots - this.#taken;
  }

  /** Checks whether a caller may take another slot. A caller without slots may take one as long as any is free. */
  mayAcquire(caller: string): boolean {
    return this.#byCaller.get(caller) <= this.free * sharePerFree;
  }

  acquire(slot: Slot, caller: string): void {
    slot.share = this.#byCaller.increase(caller);
    this.#taken += 1;
  }

  /** Releases a slot; does nothing if it is already released. */
  release(slot: Slot): void {
    const { share } = slot;
    if (share === undefined) return;
    slot.share = undefined;
    this.#taken -= 1;
    this.#byCaller.decrement(share);
  }
}

/** A slot, occupied until disposed of; if none was available, the exhausted limit: the caller's or the total. */
export type Entry = Readonly<{ ok: true; slot: Disposable } | { ok: false; full: "caller" | "all" }>;

/** Slots for work in flight. When few are free, a caller with many slots gets no more; see {@link FairShares}. */
export class FairSlots {
  readonly max: number;
  readonly #shares: FairShares<SharedSlot>;

  constructor(max: number) {
    this.max = max;
    this.#shares = new FairShares(max);
  }

  enter(caller: string): Entry {
    if (this.#shares.free === 0) return { ok: false, full: "all" };
    if (!this.#shares.mayAcquire(caller)) return { ok: false, full: "caller" };
    const slot: SharedSlot = {};
    this.#shares.acquire(slot, caller);
    return { ok: true, slot: { [Symbol.dispose]: () => this.#shares.release(slot) } };
  }
}

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
  /** Waiting tickets by caller, in round-robin order: the caller served last comes last. */
  readonly #byCaller = new Map<string, Set<Ticket>>();
  /** All waiting tickets, each with the callers whose queues contain it. */
  readonly #callersOf = new Map<Ticket, string | Set<string>>();

  get size(): number {
    return this.#callersOf.size;
  }

  sizeOf(caller: string): number {
    return this.#byCaller.get(caller)?.size ?? 0;
  }

  /** Checks whether the limits prevent a caller from adding a ticket. */
  isFull(caller: string, { queuedCalls, queuedCallsPerCaller }: QueueBounds): boolean {
    return this.size >= queuedCalls || this.sizeOf(caller) >= queuedCallsPerCaller;
  }

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
