import { randomInt } from "node:crypto";

/** Most characters of a key that are hashed from either end, so that a long one costs no more than a look at it. */
const lookedAt = 128;
/** Bits of a hash: so many that it is a small integer to V8, which takes no memory besides the object that holds it. */
const hashBits = 0x3fffffff;
/** Start of each hash, which nobody who chooses keys knows. */
const seed = randomInt(hashBits);
/** Slots of the smallest table; a power of two. */
const slotsAtFirst = 16;

let lastKey = "";
let lastHash = seed;

/**
 * Numbered places that have a key each, found by it. Of a client's address nearly each request may have another, and a Map would first
 * put each such key into V8's table of all strings, and make a new table for every so many of them. This is a table of hashes with open
 * addressing (linear probing, with deletion by moving back; Knuth, "The Art of Computer Programming", 6.4, algorithm R), which only
 * grows when more keys than ever have a place at a time.
 *
 * Keys are kept as they are. One that was cut out of a text keeps all of that in memory, one that was put together does not.
 */
export class KeyPlaces {
  readonly #keys: string[] = [];
  readonly #hashes: number[] = [];
  /** Pairs of a key's hash and its place plus one, which is 0 in a free slot. */
  #slots = new Int32Array(2 * slotsAtFirst);
  #mask = slotsAtFirst - 1;
  #size = 0;

  /** Number of places that have a key. */
  get size(): number {
    return this.#size;
  }

  /** Finds the place of a key. */
  find(key: string): number | undefined {
    const hash = hashKey(key);
    const slots = this.#slots;
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const next = slots[2 * slot + 1] ?? 0;
      if (next === 0) return undefined;
      if (slots[2 * slot] === hash && this.#keys[next - 1] === key) return next - 1;
    }
  }

  /** Gives a place that has none a key that has no place. Places are numbered from 0, and a new one follows those before it. */
  add(key: string, place: number): void {
    const hash = hashKey(key);
    this.#keys[place] = key;
    this.#hashes[place] = hash;
    this.#size += 1;
    if (2 * this.#size > this.#mask) this.#grow();
    this.#fill(hash, place);
  }

  /** Takes the key of a place away. */
  delete(place: number): void {
    const mask = this.#mask;
    const slots = this.#slots;
    this.#keys[place] = "";
    this.#size -= 1;
    let free = (this.#hashes[place] ?? 0) & mask;
    while (slots[2 * free + 1] !== place + 1) free = (free + 1) & mask;
    for (let slot = (free + 1) & mask; slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const hash = slots[2 * slot] ?? 0;
      // A hash is found as long as no slot is free from its first one to its own.
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

/** Hashes a key (FNV-1a). A request needs that of its caller several times in a row: the last one is remembered. */
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
