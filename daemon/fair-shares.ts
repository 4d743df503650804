import { KeyCounts } from "./key-counts.ts";

/** Slots that a caller may use per free slot. */
const sharePerFree = 3;

/** A slot (a connection, an in-flight call), marked with its caller's index into the slot counts. */
export type SharedLocation = { share?: number | undefined };

/**
 * Slots shared by callers, counted per caller. A caller that has more than three times as many slots as are free gets no more. A single
 * caller can thus use about three quarters of the slots, and two callers three sevenths each; some slots stay free, so that a new caller
 * need not wait for other callers' long responses. (The threshold follows the one that Choudhury and Hahne propose for buffers shared by
 * queues, "Dynamic queue length thresholds for shared-memory packet switches", 1998.)
 */
export class FairShares<Place extends SharedLocation> {
  readonly #places: number;
  readonly #byCaller = new KeyCounts();
  #taken = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Unused slots. */
  get free(): number {
    return this.#places - this.#taken;
  }

  /** Checks whether a caller may take another slot. A caller without slots may take one as long as any is free. */
  mayAcquire(caller: string): boolean {
    return this.#byCaller.get(caller) <= this.free * sharePerFree;
  }

  acquire(place: Place, caller: string): void {
    place.share = this.#byCaller.increase(caller);
    this.#taken += 1;
  }

  /** Releases a slot; does nothing if it is already released. */
  release(place: Place): void {
    const { share } = place;
    if (share === undefined) return;
    place.share = undefined;
    this.#taken -= 1;
    this.#byCaller.decreaseAt(share);
  }
}
