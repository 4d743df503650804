import { KeyCounts } from "./key-places.ts";

/** Slots that a caller may use per free slot. */
const sharePerFree = 3;

/** A slot (a connection, an in-flight call), marked with its caller's index into the slot counts. */
export type SharedSlot = { share?: number | undefined };

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

  /** Unused slots. */
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
    this.#byCaller.decreaseAt(share);
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
