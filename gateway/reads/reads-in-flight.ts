import type { AnswerFlow } from "../answers/answer-sink.ts";
import type { NodeRead } from "./node-read.ts";

/** Places for reads; a power of two, and several times the connections to the node. */
const places = 4_096;

/** A read in flight that equal ones may join. */
export type ReadInFlight = Readonly<{
  /** The `buildCallKey` of method and parameters, and its `hashKey`. */
  key: string;
  hash: number;
  /** Generation of the head in which it began. */
  generation: number;
  /** Adds another caller's equal read: the call to the node takes that caller's turns, too, from now on. */
  join: (read: NodeRead) => AnswerFlow;
}>;

/** Reads that equal ones may join, by the hash of their key. */
export type ReadsInFlight = Readonly<{
  get: (hash: number, key: string) => ReadInFlight | undefined;
  /** Whether there may be a read whose key has this hash. */
  mayHave: (hash: number) => boolean;
  /** Adds a read, in the place of an earlier one. */
  add: (read: ReadInFlight) => void;
  /** Replaces a read, unless another one has taken its place. */
  replace: (read: ReadInFlight, by: ReadInFlight) => void;
  /** Removes a read, unless another one has taken its place. */
  remove: (read: ReadInFlight) => void;
}>;

/**
 * Creates an empty set of reads. Each hash has one place, which the latest read holds: one that lost its place can't be joined any
 * more, which is all that it loses. A map, with an entry made and removed by every read, would cost several times as much, and its
 * abandoned tables keep alive what was ever in them.
 */
export function createReadsInFlight(): ReadsInFlight {
  const reads: (ReadInFlight | undefined)[] = Array.from({ length: places });
  const computePlace = (hash: number) => hash & (places - 1);
  return {
    get: (hash, key) => {
      const read = reads[computePlace(hash)];
      return read?.hash === hash && read.key === key ? read : undefined;
    },
    mayHave: (hash) => reads[computePlace(hash)]?.hash === hash,
    add: (read) => {
      reads[computePlace(read.hash)] = read;
    },
    replace: (read, by) => {
      const place = computePlace(read.hash);
      if (reads[place] === read) reads[place] = by;
    },
    remove: (read) => {
      const place = computePlace(read.hash);
      if (reads[place] === read) reads[place] = undefined;
    },
  };
}
