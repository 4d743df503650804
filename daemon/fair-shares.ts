/** Places that one caller may have for each that is left free. */
const sharePerFree = 3;
/**
 * Callers without a place that are remembered; beyond that all of them are forgotten together. To forget each with its last call would
 * change the map with every call, at the price that `gateway/reads/reads-in-flight.ts` describes.
 */
const restingCallers = 10_000;

/** One caller's places. */
type Share = { places: number };

/** A place (a connection, a call under way) as its user is noted on it. */
export type SharedPlace = { share?: Share | undefined };

/**
 * Places that callers share, counted by caller. Whoever has more than three times as many as are free gets no further
 * one: alone a caller has about three quarters of them, two have three sevenths each, and some are free for whoever
 * comes next, who need not wait until long answers to others are through. (The threshold is that of Choudhury and
 * Hahne's for buffers that queues share, "Dynamic queue length thresholds for shared-memory packet switches", 1998.)
 */
export class FairShares<Place extends SharedPlace> {
  readonly #places: number;
  #byCaller = new Map<string, Share>();
  #taken = 0;
  #resting = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Places that nobody has. */
  get free(): number {
    return this.#places - this.#taken;
  }

  /** Whether a caller may have one more. Whoever has none may, as long as one is free. */
  mayAcquire(caller: string): boolean {
    return (this.#byCaller.get(caller)?.places ?? 0) <= this.free * sharePerFree;
  }

  acquire(place: Place, caller: string): void {
    const known = this.#byCaller.get(caller);
    const share = known ?? { places: 0 };
    if (known === undefined) this.#byCaller.set(caller, share);
    else if (share.places === 0) this.#resting -= 1;
    share.places += 1;
    this.#taken += 1;
    place.share = share;
  }

  /** A place is free again, or gone. */
  release(place: Place): void {
    const { share } = place;
    if (share === undefined) return;
    place.share = undefined;
    this.#taken -= 1;
    share.places -= 1;
    if (share.places > 0) return;
    this.#resting += 1;
    if (this.#resting <= restingCallers) return;
    this.#byCaller = new Map([...this.#byCaller].filter(([, { places }]) => places > 0));
    this.#resting = 0;
  }
}
