import type { ResponseCache } from "./cache/response-cache.ts";
import { deriveCacheLifetime } from "./cache/cache-lifetime.ts";
import { hashKey } from "../json-rpc/key-hash.ts";
import type { ChainHead, Head } from "../chain/head.ts";
import { createReadsInFlight, type ReadInFlight, type ReadsInFlight } from "./reads-in-flight.ts";
import { CoalescedRead, type ReadMoment, type SharedReadOwner } from "./coalesced-read.ts";
import type { Method } from "../catalogue/method.ts";
import { formatCall, isEmptyResult } from "../json-rpc/read-answer.ts";
import type { NodeFlow, NodeSender } from "../upstream/node-call.ts";
import type { ResponseFlow } from "../responses/response-sink.ts";
import { type NodeRead, PassThrough } from "./node-read.ts";
import { carriedId, RenamedResponse } from "./renamed-response.ts";

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

/**
 * Ids that every node returns byte for byte: plain integers, and strings without characters that some JSON encoders escape (Go's escapes
 * `<`, `>` and `&`, others escape `/` and `'`). Calls with any other id are sent under a substitute id.
 */
const plainId = /^(?:0|[1-9]\d{0,14}|"[\w .,:;!?*+=@#$%^~|(){}[\]-]{0,128}")$/;

/** Returns whether an id is plain. Most clients' ids are short integers, which are recognised without a regular expression. */
function isPlainId(id: string): boolean {
  const { length } = id;
  const first = id.charCodeAt(0);
  if (first < one || first > nine || length > shortDigits) return plainId.test(id);
  for (let at = 1; at < length; at += 1) {
    const code = id.charCodeAt(at);
    if (code < zero || code > nine) return false;
  }
  return true;
}

const zero = 0x30;
const one = 0x31;
const nine = 0x39;
const shortDigits = 15;

/** Creates the reads for one node. */
export function createNodeReads(
  options: NodeReadsOptions,
  { pool, cache, head }: Readonly<{ pool: NodeSender; cache: ResponseCache; head: Head }>,
): NodeReads & Readonly<{ plain: PlainNodeReads | undefined }> {
  const underWay = createReadsInFlight();

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
      sink: plain ? new PassThrough(read) : new RenamedResponse(read),
    });
    return new LoneFlow(flow, read);
  };
  const owner: SharedReadOwner = {
    pool,
    limitBytes: options.entryBytes,
    closed: underWay.remove,
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
    end: underWay.remove,
    keep: (read, json) => keepResult({ cache, head }, read, json),
    share: (plain, read) => {
      const shared = new CoalescedRead(read, plain, owner);
      underWay.replace(plain, shared);
      return shared;
    },
  };
}

/** Flow control of a call that has a single reader. */
class LoneFlow implements ResponseFlow {
  readonly #flow: NodeFlow;
  readonly #read: NodeRead;

  constructor(flow: NodeFlow, read: NodeRead) {
    this.#flow = flow;
    this.#read = read;
  }

  resume(): void {
    this.#flow.resume();
  }

  cancel(): void {
    this.#flow.cancel();
    this.#read.done("cancelled");
  }
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
