import { KeyLocations } from "#daemon/key-places.ts";

/**
 * A map with a max number of entries, in which a new entry evicts the oldest. A ring stores the order: finding the first key of a Map skips
 * every entry removed before it, which can be tens of thousands.
 */
export class LatestEntries<Value> {
  readonly #most: number;
  readonly #places = new KeyLocations();
  readonly #values: Value[] = [];
  /** Index of the oldest entry in the ring, once the ring is full. */
  #oldest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#places.size;
  }

  get(key: string): Value | undefined {
    const place = this.#places.find(key);
    return place === undefined ? undefined : this.#values[place];
  }

  /** Sets an entry; an existing entry keeps its age. */
  set(key: string, value: Value): void {
    const place = this.#places.find(key) ?? this.#add(key);
    this.#values[place] = value;
  }

  /** Returns the value for a key, creating it if missing. */
  getOrMake(key: string, make: () => Value): Value {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.#values[this.#add(key)] = value;
    return value;
  }

  #add(key: string): number {
    let place = this.#places.size;
    if (place === this.#most) {
      place = this.#oldest;
      this.#places.delete(place);
      this.#oldest = (place + 1) % this.#most;
    }
    this.#places.add(key, place);
    return place;
  }
}
