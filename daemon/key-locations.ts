import { randomInt } from "node:crypto";

/** Max number of characters hashed at each end of a key, so that a long key costs no more. */
const lookedAt = 128;
/** Bits of a hash, few enough for a V8 small integer, which takes no memory of its own. */
const hashBits = 0x3fffffff;
/** Start of each hash, unknown to clients that choose keys. */
const seed = randomInt(hashBits);
/** Slots of the smallest table; a power of two. */
const slotsAtFirst = 16;

let lastKey = "";
let lastHash = seed;

/**
 * Assigns numbered places to keys and finds them by key. Nearly every request may have a different client address as its key; a Map would
 * first intern each key in V8's string table, and reallocate its own table regularly. This is a hash table with open addressing (linear
 * probing, deletion by moving entries back; Knuth, "The Art of Computer Programming", 6.4, algorithm R), which grows only when the number
 * of simultaneous keys reaches a new maximum.
 *
 * Keys are not copied. A key sliced from a longer string keeps that whole string in memory; a concatenated key does not.
 */
export class KeyLocations {
  readonly #keys: string[] = [];
  readonly #hashes: number[] = [];
  /** Pairs of a key's hash and its place plus one; 0 marks a free slot. */
  #slots = new Int32Array(2 * slotsAtFirst);
  #mask = slotsAtFirst - 1;
  #size = 0;

  /** Number of places in use. */
  get size(): number {
    return this.#size;
  }

  find(key: string): number | undefined {
    const hash = hashKey(key);
    const slots = this.#slots;
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const next = slots[2 * slot + 1] ?? 0;
      if (next === 0) return undefined;
      if (slots[2 * slot] === hash && this.#keys[next - 1] === key) return next - 1;
    }
  }

  /** Assigns a free slot to a new key. Places are numbered from 0, without gaps. */
  add(key: string, place: number): void {
    const hash = hashKey(key);
    this.#keys[place] = key;
    this.#hashes[place] = hash;
    this.#size += 1;
    if (2 * this.#size > this.#mask) this.#grow();
    this.#fill(hash, place);
  }

  /** Removes the key at a place. */
  delete(place: number): void {
    const mask = this.#mask;
    const slots = this.#slots;
    this.#keys[place] = "";
    this.#size -= 1;
    let free = (this.#hashes[place] ?? 0) & mask;
    while (slots[2 * free + 1] !== place + 1) free = (free + 1) & mask;
    for (let slot = (free + 1) & mask; slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const hash = slots[2 * slot] ?? 0;
      // A hash can be found only while no slot between its first and its actual slot is free.
      if (((slot - hash) & mask) < ((slot - free) & mask)) continue;
      slots[2 * free] = hash;
      slots[2 * free + 1] = slots[2 * slot + 1] ?? 0;
      free = slot;
    }
    slots[2 * free + 1] = 0;
  }

  #fill(hash: number, place: number): void {
    let slot = hash & this.#mask;
    while (this.#slots[2 * slot + 1] !== 0) slot = (slot + 1) & this.#mask;
    this.#slots[2 * slot] = hash;
    this.#slots[2 * slot + 1] = place + 1;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Int32Array(2 * before.length);
    this.#mask = before.length - 1;
    for (let at = 0; at < before.length; at += 2) {
      const next = before[at + 1] ?? 0;
      if (next !== 0) this.#fill(before[at] ?? 0, next - 1);
    }
  }
}

/** Hashes a key (FNV-1a). A request hashes its caller's key several times in a row, so the last hash is cached. */
function hashKey(key: string): number {
  if (key !== lastKey) {
    lastHash = computeHash(key);
    lastKey = key;
  }
  return lastHash;
}

function computeHash(key: string): number {
  const { length } = key;
  let hash = seed ^ length;
  for (let at = 0; at < length; at += 1) {
    if (at === lookedAt && length > 2 * lookedAt) at = length - lookedAt;
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) & hashBits;
}

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

  decrease(key: string): void {
    const place = this.#places.find(key);
    if (place !== undefined) this.decrementAt(place);
  }

  decrementAt(place: number): void {
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

/**
 * A map with a max number of entries; a new entry evicts the oldest. A ring stores the order: finding the first key of a Map skips
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

  getOrCreate(key: string, make: () => Value): Value {
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
