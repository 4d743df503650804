import { FairShares, type SharedLocation } from "./fair-shares.ts";

/** A slot, occupied until disposed of; if none was available, the exhausted limit: the caller's or the total. */
export type Entry = Readonly<{ ok: true; place: Disposable } | { ok: false; full: "caller" | "all" }>;

/** Slots for work in flight. When few are free, a caller with many slots gets no more; see {@link FairShares}. */
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
