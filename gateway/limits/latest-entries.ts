import { KeyPlaces } from "#daemon/key-places.ts";

/**
 * A map of at most so many entries, in which a new one displaces the one that was added longest ago. The places of a ring hold the order: a look
 * for the first key of a Map passes over every entry that was removed before it, tens of thousands at times.
 */
export class LatestEntries<Value> {
  readonly #most: number;
  readonly #places = new KeyPlaces();
  readonly #values: Value[] = [];
  /** Place of the oldest entry, once all are taken. */
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

  /** Sets an entry; one that already exists keeps its age. */
  set(key: string, value: Value): void {
    const place = this.#places.find(key) ?? this.#add(key);
    this.#values[place] = value;
  }

  /** Returns the value of a key, which is made if it has none. */
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
