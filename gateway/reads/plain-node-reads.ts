import type { ChainHead, Head } from "../chain/head.ts";
import type { AnswerCache } from "./cache/answer-cache.ts";
import { CoalescedRead, type ReadMoment, type SharedReadOwner } from "./coalesced-read.ts";
import { keepResult } from "./keep-result.ts";
import type { NodeRead } from "./node-read.ts";
import type { ReadInFlight, ReadsInFlight } from "./reads-in-flight.ts";

/** The reads as plain ones of batches use them: the cache and the reads in flight, by numbers in place of keys. */
export type PlainNodeReads = Readonly<{
  /** Returns what a read that begins now has to remember of the head and the cache. */
  moment: () => Readonly<{ head: ChainHead | undefined; generation: number; epoch: number }>;
  /** Whether the cache or a read in flight may have the answer, by the `hashKey` of the read's key. */
  mayHave: (hash: number, generation: number) => boolean;
  /** Begins a read that has no answer: equal ones may join it from now on. Returns whether the cache wants the result. */
  begin: (read: ReadInFlight) => boolean;
  end: (read: ReadInFlight) => void;
  /** Keeps its result, as {@link keepResult} does. */
  keep: (read: ReadInFlight & ReadMoment, json: string) => void;
  /** Makes a shared read of a plain one that has begun. Its call has been sent: it takes that over. */
  share: (plain: ReadInFlight & ReadMoment, read: NodeRead) => CoalescedRead;
}>;

/** Creates them with the parts that all reads of one node share. */
export function createPlainNodeReads({
  cache,
  head,
  underWay,
  owner,
}: Readonly<{ cache: AnswerCache; head: Head; underWay: ReadsInFlight; owner: SharedReadOwner }>): PlainNodeReads {
  return {
    moment: () => ({ head: head.known(), generation: head.generation(), epoch: cache.epoch() }),
    mayHave: (hash, generation) => cache.mayHave(hash, generation) || underWay.mayHave(hash),
    begin: (read) => {
      underWay.add(read);
      return cache.admits(read.hash);
    },
    end: underWay.remove,
    keep: (read, json) => keepResult({ cache, head }, read, json),
    share: (plain, read) => {
      const shared = new CoalescedRead(read, plain, owner);
      underWay.replace(plain, shared);
      return shared;
    },
  };
}
