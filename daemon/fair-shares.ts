import { KeyCounts } from "./key-counts.ts";

/** Places that one caller may have for each that is left free. */
const sharePerFree = 3;

/** A place (a connection, a call under way) as its user is noted on it: by the number that the count of its places has. */
export type SharedPlace = { share?: number | undefined };

/**
 * Places that callers share, counted by caller. Whoever has more than three times as many as are free gets no further
 * one: alone a caller has about three quarters of them, two have three sevenths each, and some are free for whoever
 * comes next, who need not wait until long answers to others are through. (The threshold is that of Choudhury and
 * Hahne's for buffers that queues share, "Dynamic queue length thresholds for shared-memory packet switches", 1998.)
 */
export class FairShares<Place extends SharedPlace> {
  readonly #places: number;
  readonly #byCaller = new KeyCounts();
  #taken = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Places that nobody has. */
  get free(): number {
    return this.#places - this.#taken;
  }

  /** Whether a caller may have one more. Whoever has none may, as long as one is free. */
  mayAcquire(caller: string): boolean {
    return this.#byCaller.get(caller) <= this.free * sharePerFree;
  }

  acquire(place: Place, caller: string): void {
    place.share = this.#byCaller.increase(caller);
    this.#taken += 1;
  }

  /** A place is free again, or gone. */
  release(place: Place): void {
    const { share } = place;
    if (share === undefined) return;
    place.share = undefined;
    this.#taken -= 1;
    this.#byCaller.decreaseAt(share);
  }
}
