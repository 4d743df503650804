import { copyText } from "../../json-rpc/read-answer.ts";
import { createFrequencySketch, createSecondChanceStore, type SecondChanceStore } from "./second-chance-store.ts";

/**
 * Entries, and the share of all bytes, below which everything is kept: results that nobody requests again cost next to nothing in a cache
 * that is nearly empty.
 */
const roomyEntries = 1_024;
const roomyShare = 1 / 16;

/** Bounds of the cache. */
export type AnswerCacheOptions = Readonly<{ totalBytes: number; entryBytes: number }>;

/**
 * Results of reads, by method and parameters: those that can't change, and those of the present head, which all go at once
 * when the head changes. Both together are bounded in bytes; the larger gives way, so that neither drives the other out.
 */
export type AnswerCache = Readonly<{
  get: (key: string, generation: number) => string | undefined;
  /** Whether there may be a result whose key has this hash: if not, the key need not be put together to look for it. */
  mayHave: (hash: number, generation: number) => boolean;
  /**
   * Counts a read that was not found, by the `hashKey` of its key. Returns whether its result is to be kept: if it is not the first one
   * of late, or if there is plenty of room.
   */
  admits: (hash: number) => boolean;
  /** Returns a result that was kept for ever. */
  getLasting: (key: string) => string | undefined;
  /** Keeps a result while the head's generation is this one. Generations only grow. */
  putForHead: (key: string, json: string, generation: number) => void;
  /** Returns how often the cache was cleared: results that were requested in one epoch are not kept in another. */
  epoch: () => number;
  /** Keeps a result that can't change, unless the cache was cleared since the epoch in which it was requested. */
  putForEver: (key: string, json: string, requestedIn: number) => void;
  clear: () => void;
  /** Frees so many bytes, if it has them. */
  giveUp: (bytes: number) => void;
  bytes: () => number;
  entries: () => number;
}>;

/** Creates an empty cache. */
export function createAnswerCache(options: AnswerCacheOptions): AnswerCache {
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
  const giveUp = (count: number) => {
    const [larger, smaller] = ofHead.bytes() > forEver.bytes() ? [ofHead, forEver] : [forEver, ofHead];
    const rest = count - larger.bytes();
    larger.giveUp(count);
    if (rest > 0) smaller.giveUp(rest);
  };
  const put = (store: SecondChanceStore, key: string, json: string) => {
    if (json.length > options.entryBytes) return;
    // A key is put together from a part of a message, all of which it would keep alive; a few of its bytes are what is counted.
    store.put(copyText(key), json);
    const excess = bytes() - options.totalBytes;
    if (excess > 0) giveUp(excess);
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
    giveUp,
    bytes,
    entries,
  };
}
