import type { SharedRead } from "./shared-read.ts";

/**
 * Removals after which the map is made anew. V8's map gets a new table whenever enough was removed from it, and the old table points to
 * the new one: one that has grown old keeps everything alive that was ever under way after it, until all memory is looked
 * through. Each new map begins without a past.
 */
const removalsOfMap = 64;

/** Reads that equal ones may join, by key. */
export type ReadsUnderWay = Readonly<{
  get: (key: string) => SharedRead | undefined;
  /** Adds a read, in the place of an earlier one with its key. */
  add: (shared: SharedRead) => void;
  /** Removes a read, unless another one has taken its place. */
  remove: (shared: SharedRead) => void;
}>;

/** Makes an empty set of reads. */
export function makeReadsUnderWay(): ReadsUnderWay {
  let byKey = new Map<string, SharedRead>();
  let removals = 0;
  return {
    get: (key) => byKey.get(key),
    add: (shared) => void byKey.set(shared.read.key, shared),
    remove: (shared) => {
      const { key } = shared.read;
      if (byKey.get(key) !== shared) return;
      byKey.delete(key);
      removals += 1;
      if (removals < removalsOfMap) return;
      removals = 0;
      byKey = new Map(byKey);
    },
  };
}
