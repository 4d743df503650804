import { copyText } from "../json-rpc/read-answer.ts";

/**
 * A cache with fewer entries than this, and less than this share of its bytes in use, stores every result: one that is never requested
 * again costs next to nothing.
 */
const roomyEntries = 1_024;
const roomyShare = 1 / 16;

export type ResponseCacheOptions = Readonly<{ totalBytes: number; entryBytes: number }>;

/**
 * Results of reads, keyed by the `buildCallKey` of method and parameters and looked up by its `hashKey`. Immutable results, and those for
 * the current head, which are all dropped when the head changes, share one byte limit. The larger group is evicted first, so that neither
 * crowds out the other.
 */
export class ResponseCache {
  readonly #options: ResponseCacheOptions;
  readonly #ofHead = new SecondChanceStore();
  readonly #forEver = new SecondChanceStore();
  readonly #recentKeys = new FrequencySketch();
  #generation = 0;
  #epoch = 0;

  constructor(options: ResponseCacheOptions) {
    this.#options = options;
  }

  get(key: string, hash: number, generation: number): string | undefined {
    this.#moveTo(generation);
    return this.#ofHead.get(key, hash) ?? this.#forEver.get(key, hash);
  }

  getImmutable(key: string, hash: number): string | undefined {
    return this.#forEver.get(key, hash);
  }

  /** Returns whether there may be a result whose key has this hash. If not, the key need not be built. */
  mayHave(hash: number, generation: number): boolean {
    this.#moveTo(generation);
    return this.#ofHead.mayHave(hash) || this.#forEver.mayHave(hash);
  }

  /**
   * Counts a cache miss under the `hashKey` of its key. Returns whether to cache the result: this is the case if the key has missed
   * recently, or if there is plenty of space.
   */
  admits(hash: number): boolean {
    if (this.#recentKeys.count(hash) > 0) return true;
    return this.entries() < roomyEntries && this.bytes() < this.#options.totalBytes * roomyShare;
  }

  /** Caches a result while the head has this generation. Generations only increase. */
  putForHead(key: string, hash: number, json: string, generation: number): void {
    this.#moveTo(generation);
    this.#put(this.#ofHead, key, hash, json);
  }

  /** Caches an immutable result, unless the cache was cleared since the epoch in which it was requested. */
  putForEver(key: string, hash: number, json: string, requestedIn: number): void {
    if (requestedIn === this.#epoch) this.#put(this.#forEver, key, hash, json);
  }

  /** Returns how often the cache has been cleared: a result requested in one epoch is not cached in another. */
  epoch(): number {
    return this.#epoch;
  }

  clear(): void {
    this.#epoch += 1;
    this.#ofHead.clear();
    this.#forEver.clear();
  }

  /** Frees this many bytes, or all if there are fewer. */
  evict(count: number): void {
    const [larger, smaller] =
      this.#ofHead.bytes > this.#forEver.bytes ? [this.#ofHead, this.#forEver] : [this.#forEver, this.#ofHead];
    const rest = count - larger.bytes;
    larger.evict(count);
    if (rest > 0) smaller.evict(rest);
  }

  bytes(): number {
    return this.#ofHead.bytes + this.#forEver.bytes;
  }

  entries(): number {
    return this.#ofHead.entries + this.#forEver.entries;
  }

  #moveTo(generation: number): void {
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#ofHead.clear();
  }

  #put(store: SecondChanceStore, key: string, hash: number, json: string): void {
    if (json.length > this.#options.entryBytes) return;
    // A key is a slice of a message and would keep the whole message alive; only the few bytes of the key are counted.
    store.put(copyText(key), hash, json);
    const excess = this.bytes() - this.#options.totalBytes;
    if (excess > 0) this.evict(excess);
  }
}

/** Fixed cost of an entry in addition to its text: map slot, object, string headers. */
const entryOverheadBytes = 160;

/** Bits of a key's hash that fit into a small integer, which a map can look up without further memory accesses. */
const slotBits = 0x3fffffff;

type Entry = { readonly key: string; readonly json: string; used: boolean };

/**
 * Texts by key, counted in bytes. Eviction uses the second-chance algorithm, which drops texts unused since the last scan first, so that a
 * hit need not move anything. If two keys have the same hash, the one in use is kept. Entries are stored under the hash of their key: a map
 * of strings would add each key it gets, most of which never recur, to V8's table of all strings.
 */
class SecondChanceStore {
  #entries = new Map<number, Entry>();
  bytes = 0;

  get entries(): number {
    return this.#entries.size;
  }

  get(key: string, hash: number): string | undefined {
    const entry = this.#entries.get(hash & slotBits);
    if (entry === undefined || entry.key !== key) return undefined;
    entry.used = true;
    return entry.json;
  }

  /** Returns whether there may be a text whose key has this hash. */
  mayHave(hash: number): boolean {
    return this.#entries.has(hash & slotBits);
  }

  put(key: string, hash: number, json: string): void {
    const slot = hash & slotBits;
    const before = this.#entries.get(slot);
    if (before !== undefined && before.key !== key && before.used) {
      before.used = false;
      return;
    }
    if (before !== undefined) this.#remove(slot, before);
    this.#add(slot, { key, json, used: false });
  }

  /** Evicts the least recently used entries until at least that many bytes are freed, or the store is empty. */
  evict(count: number): void {
    const maxCount = this.bytes - count;
    // During iteration, a map also visits entries that are set again, so the loop ends only when enough bytes are freed.
    for (const [slot, entry] of this.#entries) {
      if (this.bytes <= maxCount) return;
      this.#remove(slot, entry);
      if (!entry.used) continue;
      entry.used = false;
      this.#add(slot, entry);
    }
  }

  clear(): void {
    // A new map is used because clearing one takes time proportional to its entries.
    this.#entries = new Map();
    this.bytes = 0;
  }

  #add(slot: number, entry: Entry): void {
    this.#entries.set(slot, entry);
    this.bytes += computeSize(entry);
  }

  #remove(slot: number, entry: Entry): void {
    this.#entries.delete(slot);
    this.bytes -= computeSize(entry);
  }
}

function computeSize({ key, json }: Entry): number {
  return key.length + json.length + entryOverheadBytes;
}

/** Counters per row; a power of two. */
const width = 65_536;
const rows = 4;
/** Number of keys counted before all counters are halved: at half a key per counter, few keys collide. */
const countsUntilHalving = width / 2;
/** Max counter value; four halvings reset it. */
const maxCount = 15;

/**
 * Estimates how often keys occurred recently, in a fixed quarter of a megabyte. Estimates are never too low and seldom too high: a count-min
 * sketch whose counts are halved as it fills up (TinyLFU: Einziger, Friedman and Manes, 2017) distinguishes keys that occur once from keys
 * that recur, regardless of how many there are.
 */
export class FrequencySketch {
  readonly #counters = new Uint8Array(rows * width);
  readonly #words = new Uint32Array(this.#counters.buffer);
  #counted = 0;

  /** Counts a key by its hash and returns how often the key occurred before. */
  count(hash: number): number {
    const step = (Math.imul(hash, 0x9e3779b1) >>> 15) | 1;
    let least = maxCount;
    for (let row = 0; row < rows; row += 1) {
      const at = row * width + ((hash + row * step) & (width - 1));
      const count = this.#counters[at] ?? 0;
      least = Math.min(least, count);
      if (count < maxCount) this.#counters[at] = count + 1;
    }
    this.#counted += 1;
    if (this.#counted === countsUntilHalving) this.#age();
    return least;
  }

  #age(): void {
    const words = this.#words;
    this.#counted = 0;
    for (let at = 0; at < words.length; at += 1) words[at] = ((words[at] ?? 0) >>> 1) & 0x7f7f7f7f;
  }
}
