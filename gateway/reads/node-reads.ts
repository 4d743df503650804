import type { ResponseCache } from "./response-cache.ts";
import type { CacheLifetime, NodeRead, ReadInFlight, ReadContext } from "./node-read.ts";
import type { ChainHead, HeadTracker } from "../chain/chain-head.ts";
import { CoalescedRead, type SharedReadOwner } from "./coalesced-read.ts";
import type { Method } from "../catalogue/method.ts";
import { formatCall, isEmptyResult } from "../json-rpc/read-answer.ts";
import { findElement, readObject } from "../json-rpc/read-object.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import { EndingFlow, type ResponseFlow } from "../responses/response-sink.ts";
import { substituteId, IdRewritingSink } from "./id-rewriting-sink.ts";

export type NodeReadsOptions = Readonly<{
  totalBytes: number;
  /** Max size of a response that is cached or shared. */
  entryBytes: number;
}>;

/** Serves calls from the cache, from an identical call in flight, or from the node. Keys are built by `buildCallKey`. */
export class NodeReads implements SharedReadOwner {
  readonly isCaching: boolean;
  readonly pool: NodeSender;
  readonly limitBytes: number;
  readonly #cache: ResponseCache;
  readonly #head: HeadTracker;
  readonly #inFlight = new ReadsInFlight();

  constructor(
    { totalBytes, entryBytes }: NodeReadsOptions,
    { pool, cache, head }: Readonly<{ pool: NodeSender; cache: ResponseCache; head: HeadTracker }>,
  ) {
    this.isCaching = totalBytes > 0;
    this.pool = pool;
    this.limitBytes = entryBytes;
    this.#cache = cache;
    this.#head = head;
  }

  /** Returns a call's cached result as JSON text. Returns undefined for a method whose cache is off, even if an earlier result is cached. */
  cached(method: Method, key: string, hash: number): string | undefined {
    return this.#isCached(method) ? this.#cache.get(key, hash, this.#head.generation()) : undefined;
  }

  /** Returns a call's cached result, provided it can't change with the head. */
  cachedForever(method: Method, key: string, hash: number): string | undefined {
    return this.#isCached(method) ? this.#cache.getImmutable(key, hash) : undefined;
  }

  read(read: NodeRead): ResponseFlow {
    const lifetime = deriveCacheLifetime(read.method, read, this.#head.known());
    if (lifetime === "none" || !isPlainId(read.id)) return this.alone(read, read.sender);
    const generation = this.#head.generation();
    const { hash, key } = read;
    const readInFlight = this.#inFlight.get(hash, key);
    if (readInFlight !== undefined && readInFlight.generation === generation) return readInFlight.join(read);
    const isKept = this.isCaching && this.#cache.admits(hash);
    const sharedRead = new CoalescedRead(read, { lifetime, generation, epoch: this.#cache.epoch(), isKept }, this);
    this.#inFlight.add(sharedRead);
    sharedRead.start();
    return sharedRead;
  }

  /** Serves a read through its own call. */
  alone(read: NodeRead, sender: NodeSender = this.pool): ResponseFlow {
    const { method, caller, memory, params, wire, traceContext } = read;
    const plain = isPlainId(read.id);
    const id = plain ? read.id : substituteId;
    const flow = sender.send({
      caller,
      memory,
      id,
      body: (plain ? wire : undefined) ?? formatCall(id, method.name, params),
      timeoutMs: method.timeoutMs,
      repeatable: method.repeatable,
      traceContext,
      sink: plain ? read : new IdRewritingSink(read),
    });
    return new EndingFlow(flow, () => read.cancelled());
  }

  /** Returns the state of head and cache that a plain read starting now has to remember. */
  snapshot(): Readonly<{ head: ChainHead | undefined; generation: number; epoch: number }> {
    return { head: this.#head.known(), generation: this.#head.generation(), epoch: this.#cache.epoch() };
  }

  /** Returns whether the cache or an in-flight read may have the response. `hash` is the `hashKey` of the read's key. */
  mayHave(hash: number, generation: number): boolean {
    return this.#cache.mayHave(hash, generation) || this.#inFlight.mayHave(hash);
  }

  /** Starts a plain read: from now on, identical reads may join it. Returns whether the cache should store the result. */
  begin(read: ReadInFlight): boolean {
    this.#inFlight.add(read);
    return this.#cache.admits(read.hash);
  }

  end(read: ReadInFlight): void {
    this.#inFlight.replace(read, undefined);
  }

  /** Converts a plain read that has started to a shared read, which adopts the call that was already sent. */
  share(plain: ReadInFlight & ReadContext, read: NodeRead): CoalescedRead {
    const sharedRead = new CoalescedRead(read, plain, this);
    this.#inFlight.replace(plain, sharedRead);
    return sharedRead;
  }

  /** Caches a read's result until it can no longer be used. The result must not be a slice of another text. */
  keep({ key, hash, lifetime, generation, epoch }: ReadInFlight & ReadContext, json: string): void {
    if (isEmptyResult(json)) return;
    if (lifetime === "ever") this.#cache.putForEver(key, hash, json, epoch);
    // If the head changed while the call was in flight, the response may belong to either head.
    else if (lifetime === "head" && this.#head.generation() === generation)
      this.#cache.putForHead(key, hash, json, generation);
  }

  #isCached(method: Method): boolean {
    return this.isCaching && method.cache.kind !== "none";
  }
}

/**
 * Ids that every node returns byte for byte: plain integers, and strings without characters that some JSON encoders escape (Go's escapes
 * `<`, `>` and `&`, others escape `/` and `'`). Calls with any other id are sent under a substitute id.
 */
const plainId = /^(?:0|[1-9]\d{0,14}|"[\w .,:;!?*+=@#$%^~|(){}[\]-]{0,128}")$/;

const zero = 0x30;
const one = 0x31;
const nine = 0x39;
const shortDigits = 15;

/** Returns whether an id is plain. Most clients' ids are short integers, which are recognized without a regular expression. */
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

/** Number of slots for reads; a power of two, and several times the number of connections to the node. */
const slots = 4_096;

/**
 * In-flight reads that identical reads may join, by the hash of their keys. Each hash has one slot, which belongs to the latest read: a
 * read that lost its slot can no longer be joined, but still completes. A map in which every read adds and removes an entry would cost
 * several times as much, and its old tables would keep alive whatever they once contained.
 */
class ReadsInFlight {
  readonly #reads: (ReadInFlight | undefined)[] = Array.from({ length: slots });

  get(hash: number, key: string): ReadInFlight | undefined {
    const read = this.#reads[computePosition(hash)];
    return read?.hash === hash && read.key === key ? read : undefined;
  }

  /** Returns whether there may be a read whose key has this hash. */
  mayHave(hash: number): boolean {
    return this.#reads[computePosition(hash)]?.hash === hash;
  }

  add(read: ReadInFlight): void {
    this.#reads[computePosition(read.hash)] = read;
  }

  /** Replaces a read, or removes it, unless another read has taken its slot. */
  replace(read: ReadInFlight, by: ReadInFlight | undefined): void {
    const slot = computePosition(read.hash);
    if (this.#reads[slot] === read) this.#reads[slot] = by;
  }
}

function computePosition(hash: number): number {
  return hash & (slots - 1);
}

/** Max parameter length of a call whose response is reused: for longer parameters, the lookup costs more than it saves. */
export const knownParamsBytes = 65_536;

/** Derives how long a call's response may be cached. Most reads, those of the latest block, are not scanned for the block parameter. */
export function deriveCacheLifetime(
  { cache }: Method,
  call: Pick<NodeRead, "params" | "hasLastParam">,
  head: ChainHead | undefined,
): CacheLifetime {
  if (cache.kind === "block" && call.hasLastParam?.(cache.at, '"latest"') === true) return deriveHeadLifetime(head);
  const { params } = call;
  if (params.length > knownParamsBytes) return "none";
  switch (cache.kind) {
    case "none":
      return "none";
    case "constant":
      return "ever";
    case "hash":
      return /^\[\s*"0x[0-9a-fA-F]{64}"/.test(params) ? "ever" : deriveHeadLifetime(head);
    case "head":
      return deriveHeadLifetime(head);
    case "block":
      return deriveBlockLifetime(findElement(params, cache.at), head);
    case "logs":
      return deriveFilterLifetime(params, head);
  }
}

/** Derives the lifetime of a response that is valid for one head. */
function deriveHeadLifetime(head: ChainHead | undefined): CacheLifetime {
  return head === undefined ? "none" : "head";
}

/** A block hash. A hash that starts with this many zeros may be a zero-padded number; reth and anvil read it as a number. */
const hashText = /^"0x(?!0{48})[0-9a-fA-F]{64}"$/;
const numberText = /^"0x0*[0-9a-fA-F]{1,16}"$/;

/** Derives the lifetime from the block that a parameter selects, given as JSON text. A pending block may change at any time. */
function deriveBlockLifetime(block: string | undefined, head: ChainHead | undefined): CacheLifetime {
  if (block === '"latest"') return deriveHeadLifetime(head);
  if (block === '"pending"') return "none";
  if (block !== undefined && hashText.test(block)) return "ever";
  if (block === undefined || !numberText.test(block)) {
    // A tag, a missing block or an object; an unusual spelling of "pending" must not match.
    return block === undefined || /^("(latest|earliest|safe|finalized)"|null|\{[^p\\]*\})$/.test(block)
      ? deriveHeadLifetime(head)
      : "none";
  }
  if (head?.finalized !== undefined && BigInt(block.slice(1, -1)) <= head.finalized) return "ever";
  return deriveHeadLifetime(head);
}

/** Derives the lifetime for a block range, which is that of its upper bound, unless the range specifies a block by hash. */
function deriveFilterLifetime(params: string, head: ChainHead | undefined): CacheLifetime {
  const filter = readObject(findElement(params, 0) ?? "");
  if (filter === undefined) return "none";
  if (filter.has("blockHash")) return "ever";
  const from = deriveBlockLifetime(filter.get("fromBlock"), head);
  const to = deriveBlockLifetime(filter.get("toBlock"), head);
  if (from === "none" || to === "none") return "none";
  return from === "ever" && to === "ever" ? "ever" : "head";
}
