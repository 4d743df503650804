import { KeyPlaces } from "./key-places.ts";

/** Counts by key. Only keys that count for something have a place, whose number stays theirs until then. */
export class KeyCounts {
  readonly #places = new KeyPlaces();
  readonly #counts: number[] = [];
  readonly #free: number[] = [];

  get(key: string): number {
    const place = this.#places.find(key);
    return place === undefined ? 0 : (this.#counts[place] ?? 0);
  }

  /** Counts one more of a key. Returns the key's place. */
  increase(key: string): number {
    const place = this.#places.find(key) ?? this.#add(key);
    this.#counts[place] = (this.#counts[place] ?? 0) + 1;
    return place;
  }

  /** Counts one less of a key, if it counts for something. */
  decrease(key: string): void {
    const place = this.#places.find(key);
    if (place !== undefined) this.decreaseAt(place);
  }

  /** Counts one less of the key that has this place. */
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
