import { FairShares, type SharedPlace } from "./fair-shares.ts";

/** A place until it is disposed of, or who has too many of them: the caller, or all together. */
export type Entry = Readonly<{ ok: true; place: Disposable } | { ok: false; full: "caller" | "all" }>;

/** Places for work under way. Whoever has many of them gets no more while few are free; see {@link FairShares}. */
export class FairPlaces {
  readonly most: number;
  readonly #shares: FairShares<SharedPlace>;

  constructor(most: number) {
    this.most = most;
    this.#shares = new FairShares(most);
  }

  enter(caller: string): Entry {
    if (this.#shares.free === 0) return { ok: false, full: "all" };
    if (!this.#shares.mayAcquire(caller)) return { ok: false, full: "caller" };
    const place: SharedPlace = {};
    this.#shares.acquire(place, caller);
    return { ok: true, place: { [Symbol.dispose]: () => this.#shares.release(place) } };
  }
}
