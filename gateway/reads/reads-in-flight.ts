import type { CoalescedRead } from "./coalesced-read.ts";

/** Places for reads; a power of two, and several times the connections to the node. */
const places = 4_096;

/** Reads that equal ones may join, by the hash of their key. */
export type ReadsInFlight = Readonly<{
  get: (hash: number, key: string) => CoalescedRead | undefined;
  /** Adds a read, in the place of an earlier one. */
  add: (shared: CoalescedRead) => void;
  /** Removes a read, unless another one has taken its place. */
  remove: (shared: CoalescedRead) => void;
}>;

/**
 * Creates an empty set of reads. Each hash has one place, which the latest read holds: one that lost its place can't be joined any
 * more, which is all that it loses. A map, with an entry made and removed by every read, would cost several times as much, and its
 * abandoned tables keep alive what was ever in them.
 */
export function createReadsInFlight(): ReadsInFlight {
  const reads: (CoalescedRead | undefined)[] = Array.from({ length: places });
  const computePlace = (hash: number) => hash & (places - 1);
  return {
    get: (hash, key) => {
      const shared = reads[computePlace(hash)];
      return shared?.hash === hash && shared.read.key === key ? shared : undefined;
    },
    add: (shared) => {
      reads[computePlace(shared.hash)] = shared;
    },
    remove: (shared) => {
      const place = computePlace(shared.hash);
      if (reads[place] === shared) reads[place] = undefined;
    },
  };
}
