import { FairShares, type SharedPlace } from "./fair-shares.ts";

/** A place until it is disposed of, or who has too many of them: the caller, or all together. */
export type Entry = Readonly<{ ok: true; place: Disposable } | { ok: false; full: "caller" | "all" }>;

/** Places for work under way. Whoever has many of them gets no more while few are free; see {@link FairShares}. */
export class FairPlaces {
  readonly most: number;
  readonly #shares: FairShares<SharedPlace>;
  #free: number;

  constructor(most: number) {
    this.most = most;
    this.#shares = new FairShares(most);
    this.#free = most;
  }

  enter(caller: string): Entry {
    if (this.#free === 0) return { ok: false, full: "all" };
    if (!this.#shares.mayAcquire(caller)) return { ok: false, full: "caller" };
    const place: SharedPlace = {};
    this.#shares.acquire(place, caller);
    this.#free -= 1;
    return { ok: true, place: { [Symbol.dispose]: () => this.#leave(place) } };
  }

  #leave(place: SharedPlace): void {
    if (place.share === undefined) return;
    this.#shares.release(place);
    this.#free += 1;
  }
}
