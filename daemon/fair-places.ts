import { FairShares, type SharedLocation } from "./fair-shares.ts";

/** A slot, occupied until disposed of, or whose limit is exhausted: the caller's or the total. */
export type Entry = Readonly<{ ok: true; place: Disposable } | { ok: false; full: "caller" | "all" }>;

/** Slots for work in flight. A caller with many slots gets no more while few are free; see {@link FairShares}. */
export class FairSlots {
  readonly most: number;
  readonly #shares: FairShares<SharedLocation>;

  constructor(most: number) {
    this.most = most;
    this.#shares = new FairShares(most);
  }

  enter(caller: string): Entry {
    if (this.#shares.free === 0) return { ok: false, full: "all" };
    if (!this.#shares.mayAcquire(caller)) return { ok: false, full: "caller" };
    const place: SharedLocation = {};
    this.#shares.acquire(place, caller);
    return { ok: true, place: { [Symbol.dispose]: () => this.#shares.release(place) } };
  }
}
