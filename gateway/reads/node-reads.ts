import type { ResponseCache } from "./cache/response-cache.ts";
import { deriveCacheLifetime } from "./cache/cache-lifetime.ts";
import { hashKey } from "../json-rpc/key-hash.ts";
import type { ChainHead, Head } from "../chain/head.ts";
import { CoalescedRead, type ReadMoment, type SharedReadOwner } from "./coalesced-read.ts";
import type { Method } from "../catalogue/method.ts";
import { formatCall, isEmptyResult } from "../json-rpc/read-answer.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import { EndingFlow, type ResponseFlow } from "../responses/response-sink.ts";
import type { NodeRead, ReadInFlight } from "./node-read.ts";
import { carriedId, isPlainId, RenamedResponse } from "./renamed-response.ts";

/** Size of the cache, 0 without one; identical reads in flight always share one. */
export type NodeReadsOptions = Readonly<{
  totalBytes: number;
  /** Max size of a response that is cached or shared. */
  entryBytes: number;
}>;

/** Serves calls from the cache, from an equal in-flight call, or from the node. Keys are built by `buildCallKey`. */
export type NodeReads = Readonly<{
  /** Returns a call's cached result as JSON text. Returns undefined for a method whose cache is off, even if an earlier result is cached. */
  cached: (method: Method, key: string) => string | undefined;
  /** Returns a call's cached result, provided it can't change with the head. */
  lasting: (method: Method, key: string) => string | undefined;
  read: (read: NodeRead) => ResponseFlow;
}>;

/** Reads for the plain calls in batches: the cache and the in-flight reads, looked up by hash instead of key. */
export type PlainNodeReads = Readonly<{
  /** Returns the state of head and cache that a read starting now has to remember. */
  moment: () => Readonly<{ head: ChainHead | undefined; generation: number; epoch: number }>;
  /** Returns whether the cache or an in-flight read may have the response. `hash` is the `hashKey` of the read's key. */
  mayHave: (hash: number, generation: number) => boolean;
  /** Starts a read that has no response yet: from now on, equal reads may join it. Returns whether the cache should store the result. */
  begin: (read: ReadInFlight) => boolean;
  end: (read: ReadInFlight) => void;
  /** Caches the read's result, like {@link keepResult}. */
  keep: (read: ReadInFlight & ReadMoment, json: string) => void;
  /** Converts a plain read that has started to a shared read, which adopts the call that was already sent. */
  share: (plain: ReadInFlight & ReadMoment, read: NodeRead) => CoalescedRead;
}>;

/** Creates the reads for one node. */
export function createNodeReads(
  options: NodeReadsOptions,
  { pool, cache, head }: Readonly<{ pool: NodeSender; cache: ResponseCache; head: Head }>,
): NodeReads & Readonly<{ plain: PlainNodeReads | undefined }> {
  const underWay = new ReadsInFlight();

  const isCached = (method: Method) => options.totalBytes > 0 && method.cache.kind !== "none";
  const alone = (read: NodeRead, sender: NodeSender = pool): ResponseFlow => {
    const { method, caller, memory, params, wire, traceContext } = read;
    const plain = isPlainId(read.id);
    const id = plain ? read.id : carriedId;
    const flow = sender.send({
      caller,
      memory,
      id,
      body: (plain ? wire : undefined) ?? formatCall(id, method.name, params),
      timeoutMs: method.timeoutMs,
      repeatable: method.repeatable,
      traceContext,
      sink: plain ? read : new RenamedResponse(read),
    });
    return new EndingFlow(flow, () => read.cancelled());
  };
  const owner: SharedReadOwner = {
    pool,
    limitBytes: options.entryBytes,
    closed: (shared) => underWay.replace(shared, undefined),
    result: (shared, json) => keepResult({ cache, head }, shared, json),
    alone: (read) => alone(read),
  };
  return {
    plain: options.totalBytes > 0 ? createPlainNodeReads({ cache, head, underWay, owner }) : undefined,
    cached: (method, key) => (isCached(method) ? cache.get(key, head.generation()) : undefined),
    lasting: (method, key) => (isCached(method) ? cache.getLasting(key) : undefined),
    read: (read) => {
      const lifetime = deriveCacheLifetime(read.method, read.params, head.known());
      if (lifetime === "none" || !isPlainId(read.id)) {
        return alone(read, read.sender);
      }
      const generation = head.generation();
      const hash = hashKey(read.key);
      const running = underWay.get(hash, read.key);
      if (running !== undefined && running.generation === generation) return running.join(read);
      const isKept = options.totalBytes > 0 && cache.admits(hash);
      const moment = { lifetime, generation, epoch: cache.epoch(), hash, isKept };
      const shared = new CoalescedRead(read, moment, owner);
      underWay.add(shared);
      shared.start();
      return shared;
    },
  };
}

/** Creates the reads for batches from the parts shared by all reads of one node. */
function createPlainNodeReads({
  cache,
  head,
  underWay,
  owner,
}: Readonly<{ cache: ResponseCache; head: Head; underWay: ReadsInFlight; owner: SharedReadOwner }>): PlainNodeReads {
  return {
    moment: () => ({ head: head.known(), generation: head.generation(), epoch: cache.epoch() }),
    mayHave: (hash, generation) => cache.mayHave(hash, generation) || underWay.mayHave(hash),
    begin: (read) => {
      underWay.add(read);
      return cache.admits(read.hash);
    },
    end: (read) => underWay.replace(read, undefined),
    keep: (read, json) => keepResult({ cache, head }, read, json),
    share: (plain, read) => {
      const shared = new CoalescedRead(read, plain, owner);
      underWay.replace(plain, shared);
      return shared;
    },
  };
}

/** Number of slots for reads; a power of two, and several times the number of connections to the node. */
const places = 4_096;

/**
 * Reads that equal reads may join, by the hash of their keys. Each hash has one slot, which belongs to the latest read: a read that lost its
 * slot can no longer be joined, but still completes. A map to which every read adds an entry and from which it removes that entry would cost
 * several times as much, and its abandoned tables keep alive whatever they once contained.
 */
class ReadsInFlight {
  readonly #reads: (ReadInFlight | undefined)[] = Array.from({ length: places });

  get(hash: number, key: string): ReadInFlight | undefined {
    const read = this.#reads[computePlace(hash)];
    return read?.hash === hash && read.key === key ? read : undefined;
  }

  /** Returns whether there may be a read whose key has this hash. */
  mayHave(hash: number): boolean {
    return this.#reads[computePlace(hash)]?.hash === hash;
  }

  /** Adds a read, replacing any earlier read in its slot. */
  add(read: ReadInFlight): void {
    this.#reads[computePlace(read.hash)] = read;
  }

  /** Replaces a read, or removes it, unless another read has taken its slot. */
  replace(read: ReadInFlight, by: ReadInFlight | undefined): void {
    const place = computePlace(read.hash);
    if (this.#reads[place] === read) this.#reads[place] = by;
  }
}

function computePlace(hash: number): number {
  return hash & (places - 1);
}

/** Caches the result of a read until it can no longer be used. The result is a text that is not a slice of another. */
export function keepResult(
  { cache, head }: Readonly<{ cache: ResponseCache; head: Head }>,
  { key, lifetime, generation, epoch }: ReadMoment & Readonly<{ key: string }>,
  json: string,
): void {
  if (isEmptyResult(json)) return;
  if (lifetime === "ever") cache.putForEver(key, json, epoch);
  // If the head changed while the call was in flight, the response may belong to either head.
  else if (lifetime === "head" && head.generation() === generation) cache.putForHead(key, json, generation);
}
