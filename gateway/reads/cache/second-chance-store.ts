import { hashKey } from "../../json-rpc/key-hash.ts";

/** Fixed cost of an entry in addition to its text: map slot, object, string headers. */
const entryOverheadBytes = 160;

/** Bits of a key's hash that fit into a small integer, which a map can look up without further memory accesses. */
const placeBits = 0x3fffffff;

type Entry = { readonly key: string; readonly json: string; used: boolean };

/**
 * Texts by key, counted in bytes. Eviction uses second chance: texts that have not been used since the last scan go first, so that a hit
 * need not move anything. If two keys have the same hash, the one in use stays.
 */
export type SecondChanceStore = Readonly<{
  get: (key: string) => string | undefined;
  /** Returns whether there may be a text whose key has this hash. */
  mayHave: (hash: number) => boolean;
  put: (key: string, json: string) => void;
  /** Evicts the least recently used entries until at least that many bytes are freed, or the store is empty. */
  evict: (bytes: number) => void;
  clear: () => void;
  bytes: () => number;
  entries: () => number;
}>;

/**
 * Creates an empty store. The store has no limit of its own: code that adds entries must call `evict`. Entries are stored under the hash
 * of their key: a map of strings would add each key it gets, most of which never recur, to V8's table of all strings.
 */
export function createSecondChanceStore(): SecondChanceStore {
  let entries = new Map<number, Entry>();
  let bytes = 0;
  const remove = (place: number, entry: Entry) => {
    entries.delete(place);
    bytes -= computeSize(entry);
  };
  const add = (place: number, entry: Entry) => {
    entries.set(place, entry);
    bytes += computeSize(entry);
  };
  return {
    get: (key) => {
      const entry = entries.get(computePlace(key));
      if (entry === undefined || entry.key !== key) return undefined;
      entry.used = true;
      return entry.json;
    },
    mayHave: (hash) => entries.has(hash & placeBits),
    put: (key, json) => {
      const place = computePlace(key);
      const before = entries.get(place);
      if (before !== undefined && before.key !== key && before.used) {
        before.used = false;
        return;
      }
      if (before !== undefined) remove(place, before);
      add(place, { key, json, used: false });
    },
    evict: (count) => {
      const most = bytes - count;
      // During iteration, a map also visits entries that are set again, so the loop ends only when enough bytes are freed.
      for (const [place, entry] of entries) {
        if (bytes <= most) return;
        remove(place, entry);
        if (!entry.used) continue;
        entry.used = false;
        add(place, entry);
      }
    },
    clear: () => {
      // A new map is used because clearing one takes time proportional to its entries.
      entries = new Map();
      bytes = 0;
    },
    bytes: () => bytes,
    entries: () => entries.size,
  };
}

function computePlace(key: string): number {
  return hashKey(key) & placeBits;
}

function computeSize({ key, json }: Entry): number {
  return key.length + json.length + entryOverheadBytes;
}

/** Counters per row; a power of two. */
const width = 65_536;
const rows = 4;
/** Number of keys counted before all counters are halved: at half a key per counter, few keys collide. */
const agesAfter = width / 2;
/** Max counter value; four halvings reset it. */
const most = 15;

/** Estimates how often keys occurred recently, in a fixed quarter of a megabyte. Estimates are never too low and seldom too high. */
export type FrequencySketch = Readonly<{
  /** Counts a key by its hash and returns how often the key occurred before. */
  count: (hash: number) => number;
}>;

/**
 * Creates a count-min sketch whose counts are halved as it fills up (TinyLFU: Einziger, Friedman and Manes, 2017). It distinguishes keys
 * that occur once from keys that recur, regardless of how many there are.
 */
export function createFrequencySketch(): FrequencySketch {
  const counters = new Uint8Array(rows * width);
  const words = new Uint32Array(counters.buffer);
  let counted = 0;

  const age = () => {
    counted = 0;
    for (let at = 0; at < words.length; at += 1) words[at] = ((words[at] ?? 0) >>> 1) & 0x7f7f7f7f;
  };
  return {
    count: (hash) => {
      const step = (Math.imul(hash, 0x9e3779b1) >>> 15) | 1;
      let least = most;
      for (let row = 0; row < rows; row += 1) {
        const at = row * width + ((hash + row * step) & (width - 1));
        const count = counters[at] ?? 0;
        least = Math.min(least, count);
        if (count < most) counters[at] = count + 1;
      }
      counted += 1;
      if (counted === agesAfter) age();
      return least;
    },
  };
}
