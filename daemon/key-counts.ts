import { KeyLocations } from "./key-places.ts";

/** Counts by key. Only keys with a count above 0 have an index, which doesn't change until the count is 0. */
export class KeyCounts {
  readonly #places = new KeyLocations();
  readonly #counts: number[] = [];
  readonly #free: number[] = [];

  get(key: string): number {
    const place = this.#places.find(key);
    return place === undefined ? 0 : (this.#counts[place] ?? 0);
  }

  /** Increments a key's count. Returns the key's index. */
  increase(key: string): number {
    const place = this.#places.find(key) ?? this.#add(key);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    return place;
  }

  /** Decrements a key's count if it is above 0. */
  decrease(key: string): void {
    const place = this.#places.find(key);
    if (place !== undefined) this.decreaseAt(place);
  }

  /** Decrements the count of the key at this index. */
  decreaseAt(place: number): void {
    const left = (this.#counts[place] ?? 0) - 1;
    this.#counts[place] = left;
    if (left > 0) return;
    this.#places.delete(place);
    this.#free.push(place);
  }

  #add(key: string): number {
    const place = this.#free.pop() ?? this.#counts.length;
    this.#places.add(key, place);
    this.#counts[place] = 0;
    return place;
  }
}
