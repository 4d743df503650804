import { copyText } from "../../json-rpc/read-answer.ts";
import { createFrequencySketch, createSecondChanceStore, type SecondChanceStore } from "./second-chance-store.ts";

/**
 * Number of entries, and share of all bytes, below which everything is cached: in a nearly empty cache, results that are never requested
 * again cost next to nothing.
 */
const roomyEntries = 1_024;
const roomyShare = 1 / 16;

/** Limits on the cache. */
export type ResponseCacheOptions = Readonly<{ totalBytes: number; entryBytes: number }>;

/**
 * Read results by method and parameters: immutable ones, and those for the current head, which are all dropped when the head changes. The
 * two groups share one byte limit. The larger group is evicted first, so that neither crowds out the other.
 */
export type ResponseCache = Readonly<{
  get: (key: string, generation: number) => string | undefined;
  /** Returns whether there may be a result whose key has this hash. If not, there is no need to build the key for a lookup. */
  mayHave: (hash: number, generation: number) => boolean;
  /**
   * Counts a cache miss under the `hashKey` of its key. Returns whether to cache the result: this is the case if the key has missed
   * recently, or if there is plenty of space.
   */
  admits: (hash: number) => boolean;
  /** Returns an immutable result. */
  getLasting: (key: string) => string | undefined;
  /** Caches a result while the head has this generation. Generations only increase. */
  putForHead: (key: string, json: string, generation: number) => void;
  /** Returns how often the cache has been cleared: a result requested in one epoch is not cached in another. */
  epoch: () => number;
  /** Caches an immutable result, unless the cache was cleared since the epoch in which it was requested. */
  putForEver: (key: string, json: string, requestedIn: number) => void;
  clear: () => void;
  /** Frees this many bytes, or all there are if fewer. */
  evict: (bytes: number) => void;
  bytes: () => number;
  entries: () => number;
}>;

export function createResponseCache(options: ResponseCacheOptions): ResponseCache {
  const ofHead = createSecondChanceStore();
  const forEver = createSecondChanceStore();
  const lately = createFrequencySketch();
  let headGeneration = 0;
  let epoch = 0;

  const bytes = () => ofHead.bytes() + forEver.bytes();
  const moveTo = (generation: number) => {
    if (generation === headGeneration) return;
    headGeneration = generation;
    ofHead.clear();
  };
  const evict = (count: number) => {
    const [larger, smaller] = ofHead.bytes() > forEver.bytes() ? [ofHead, forEver] : [forEver, ofHead];
    const rest = count - larger.bytes();
    larger.evict(count);
    if (rest > 0) smaller.evict(rest);
  };
  const put = (store: SecondChanceStore, key: string, json: string) => {
    if (json.length > options.entryBytes) return;
    // A key is a slice of a message and would keep the whole message alive; only the few bytes of the key are counted.
    store.put(copyText(key), json);
    const excess = bytes() - options.totalBytes;
    if (excess > 0) evict(excess);
  };
  const entries = () => ofHead.entries() + forEver.entries();
  const isRoomy = () => entries() < roomyEntries && bytes() < options.totalBytes * roomyShare;
  return {
    admits: (hash) => lately.count(hash) > 0 || isRoomy(),
    get: (key, generation) => {
      moveTo(generation);
      return ofHead.get(key) ?? forEver.get(key);
    },
    mayHave: (hash, generation) => {
      moveTo(generation);
      return ofHead.mayHave(hash) || forEver.mayHave(hash);
    },
    getLasting: forEver.get,
    putForHead: (key, json, generation) => {
      moveTo(generation);
      put(ofHead, key, json);
    },
    epoch: () => epoch,
    putForEver: (key, json, requestedIn) => {
      if (requestedIn === epoch) put(forEver, key, json);
    },
    clear: () => {
      epoch += 1;
      ofHead.clear();
      forEver.clear();
    },
    evict,
    bytes,
    entries,
  };
}
