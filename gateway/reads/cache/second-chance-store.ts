import { hashKey } from "../../json-rpc/key-hash.ts";

/** Fixed cost of an entry besides its text: map slot, object, string headers. */
const entryOverheadBytes = 160;

/** Bits of a key's hash that make a small integer, which a map finds without a look at other memory. */
const placeBits = 0x3fffffff;

type Entry = { readonly key: string; readonly json: string; used: boolean };

/**
 * Texts by key, counted in bytes. Those unused since they were last passed over go first (second chance), so that a
 * hit moves nothing. Of two keys with one hash the one that is used stays.
 */
export type SecondChanceStore = Readonly<{
  get: (key: string) => string | undefined;
  /** Whether there may be a text whose key has this hash. */
  mayHave: (hash: number) => boolean;
  put: (key: string, json: string) => void;
  /** Removes the entries that were unused for longest until at least so many bytes are gone, or everything is. */
  giveUp: (bytes: number) => void;
  clear: () => void;
  bytes: () => number;
  entries: () => number;
}>;

/**
 * Creates an empty store. It has no bound itself: whoever puts into it calls `giveUp`. Entries stand by the hash of their key: a map of
 * strings would first put each key that it receives, of which most never come again, into V8's table of all strings.
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
    giveUp: (count) => {
      const most = bytes - count;
      // A map passes over what is set again while it is walked, so that the walk ends only when there is room.
      for (const [place, entry] of entries) {
        if (bytes <= most) return;
        remove(place, entry);
        if (!entry.used) continue;
        entry.used = false;
        add(place, entry);
      }
    },
    clear: () => {
      // A new map, because emptying one takes as long as it has entries.
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

/** Counters of a row; a power of two. */
const width = 65_536;
const rows = 4;
/** Keys that are counted before all counters are halved: with half a key to a counter, few are taken for others. */
const agesAfter = width / 2;
/** Greatest count of a counter, which takes four halvings to be forgotten. */
const most = 15;

/** Remembers how often keys came lately, in a fixed quarter of a megabyte; never too few times, seldom too many. */
export type FrequencySketch = Readonly<{
  /** Counts a key, by its hash; returns how often it had come before. */
  count: (hash: number) => number;
}>;

/**
 * Creates a sketch: a count-min sketch whose counts are halved as it grows full (TinyLFU: Einziger, Friedman and Manes, 2017). It
 * distinguishes keys that come once from those that come again, whatever their number.
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
