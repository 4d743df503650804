/**
 * A map of at most so many entries, in which a new one displaces the one that was added longest ago. A ring holds the order: a look
 * for the first key of a Map passes over every entry that was removed before it, tens of thousands at times.
 */
export class LatestEntries<Value> {
  readonly #most: number;
  readonly #entries = new Map<string, Value>();
  readonly #keys: string[] = [];
  /** Index in the ring of the oldest key, once the ring is full. */
  #oldest = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  /** Sets an entry; one that already exists keeps its age. */
  set(key: string, value: Value): void {
    if (!this.#entries.has(key)) this.#add(key);
    this.#entries.set(key, value);
  }

  #add(key: string): void {
    if (this.#keys.length < this.#most) {
      this.#keys.push(key);
      return;
    }
    const displaced = this.#keys[this.#oldest];
    if (displaced !== undefined) this.#entries.delete(displaced);
    this.#keys[this.#oldest] = key;
    this.#oldest = (this.#oldest + 1) % this.#most;
  }
}
