import type { NodeFailure } from "../errors.ts";
import type { ResponseFlow, ResponseSink, ResponseSource } from "../responses/response-sink.ts";
import { CollectedResponse } from "../upstream/collected-response.ts";
import { JoinedRead, notifyJoined, type ReadInFlight } from "./reads-in-flight.ts";
import { type NodeRead, PassThrough, passFailure } from "./node-read.ts";
import { formatCall, copyText, readAnswer } from "../json-rpc/read-answer.ts";
import type { NodeCall, NodeFlow } from "../upstream/node-call.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { CacheLifetime } from "./cache/cache-lifetime.ts";

/** How long the response to a read may be reused, and the state when the read was requested. */
export type ReadMoment = Readonly<{
  lifetime: CacheLifetime;
  /** Generation of the head. */
  generation: number;
  /** Epoch of the cache. */
  epoch: number;
  /** The `hashKey` of the read's key. */
  hash: number;
  /** Whether the cache should store the result. */
  isKept: boolean;
}>;

/** Dependencies shared by all coalesced reads: the pool, the response limit and callbacks. */
export type SharedReadOwner = Readonly<{
  pool: NodeSender;
  /** Max size of a shared response. */
  limitBytes: number;
  /** Called when no more readers can join. */
  closed: (shared: CoalescedRead) => void;
  /** Called with the node's result if the cache should store it. */
  result: (shared: CoalescedRead, json: string) => void;
  /** Serves a reader through a separate call, because the response is too long to be shared. */
  alone: (read: NodeRead) => ResponseFlow;
}>;

/**
 * One call to the node that serves several equal reads. Each reader gets its own id. The first reader gets the node's bytes unchanged,
 * streamed if there are too many to be shared. The call is cancelled when its last reader leaves. It is both the flow control of the first
 * reader's response and the call sent to the node: one object, because a batch has many in flight.
 */
export class CoalescedRead implements ResponseFlow, ResponseSink, NodeCall, ReadMoment, ReadInFlight {
  readonly wantsWhole = true;
  readonly repeatable = true;
  readonly body: string;
  readonly read: NodeRead;
  readonly lifetime: CacheLifetime;
  readonly generation: number;
  readonly epoch: number;
  readonly hash: number;
  readonly isKept: boolean;
  readonly #owner: SharedReadOwner;
  #hasInitiator = true;
  #isStreaming = false;
  /** Created when a second reader joins: most reads have one reader. */
  #joined: Set<JoinedRead> | undefined;
  #flow: NodeFlow | undefined;
  /** Created if a response arrives in parts: most arrive whole. */
  #collected: CollectedResponse | undefined;

  /** `read` is the first reader. */
  constructor(read: NodeRead, { lifetime, generation, epoch, hash, isKept }: ReadMoment, owner: SharedReadOwner) {
    const { id, method, params, wire } = read;
    this.read = read;
    this.body = wire ?? formatCall(id, method.name, params);
    this.lifetime = lifetime;
    this.generation = generation;
    this.epoch = epoch;
    this.hash = hash;
    this.isKept = isKept;
    this.#owner = owner;
  }

  /** Queries the node. Call it once, as soon as other readers may join. */
  start(): void {
    const { sender = this.#owner.pool } = this.read;
    this.#flow = sender.send(this);
  }

  /** Adopts a call that was already sent for this read; used instead of `start`. */
  takeOver(flow: NodeFlow): void {
    this.#flow = flow;
  }

  get key(): string {
    return this.read.key;
  }

  get caller(): string {
    return this.read.caller;
  }

  get memory(): HeldBytes {
    return this.read.memory;
  }

  get id(): string {
    return this.read.id;
  }

  get timeoutMs(): number {
    return this.read.method.timeoutMs;
  }

  get traceContext(): TraceContext | undefined {
    return this.read.traceContext;
  }

  get sink(): ResponseSink {
    return this;
  }

  /** Adds another caller's equal read: from now on, the call to the node also uses that caller's scheduling rounds. */
  join(read: NodeRead): ResponseFlow {
    this.#flow?.join(read.caller);
    const joined = new JoinedRead(read, (gone) => this.#leave(gone));
    this.#joined ??= new Set();
    this.#joined.add(joined);
    return joined;
  }

  resume(): void {
    if (this.#isStreaming) this.#flow?.resume();
  }

  cancel(): void {
    if (!this.#hasInitiator && !this.#isStreaming) return;
    this.#hasInitiator = false;
    this.#isStreaming = false;
    this.read.done("cancelled");
    this.#endUnread();
  }

  /** Responds to all readers. A response that has only one reader and is not cached is not parsed. */
  bytes(body: Buffer, source: ResponseSource): void {
    const answer = this.#isRead ? readAnswer(body.toString("latin1"), this.read.id) : undefined;
    if (this.isKept && answer?.kind === "result") this.#owner.result(this, answer.json);
    const { first, joined } = this.#close();
    first?.done("answered");
    first?.sink.bytes(body, source);
    notifyJoined(answer, joined);
  }

  text(text: string, source: ResponseSource): void {
    const answer = this.#isRead ? readAnswer(text, this.read.id) : undefined;
    if (this.isKept && answer?.kind === "result") this.#owner.result(this, copyText(answer.json));
    const { first, joined } = this.#close();
    first?.done("answered");
    first?.sink.text(text, source);
    notifyJoined(answer, joined);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#collected = new CollectedResponse(this.#owner.limitBytes, {
      whole: (body) => this.bytes(body, source),
      fail: (failure) => this.#failed(failure),
      tooLong: () => this.#tooLong(),
    });
    this.#collected.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    return this.#collected?.chunk(bytes) ?? true;
  }

  end(): void {
    this.#collected?.end();
  }

  fail(failure: NodeFailure): void {
    if (this.#collected === undefined) this.#failed(failure);
    else this.#collected.fail(failure);
  }

  get #isRead(): boolean {
    return this.isKept || (this.#joined?.size ?? 0) > 0;
  }

  #failed(failure: NodeFailure): void {
    const { first, joined } = this.#close();
    if (first !== undefined) passFailure(first, failure);
    for (const { read } of joined) passFailure(read, failure);
  }

  #tooLong(): ResponseSink | undefined {
    const { first, joined } = this.#close();
    for (const left of joined) left.own = this.#owner.alone(left.read);
    if (first === undefined) {
      this.#flow?.cancel();
      return undefined;
    }
    this.#isStreaming = true;
    return new PassThrough(first);
  }

  #close(): Readonly<{ first: NodeRead | undefined; joined: Iterable<JoinedRead> }> {
    this.#owner.closed(this);
    const all = { first: this.#hasInitiator ? this.read : undefined, joined: this.#joined ?? [] };
    this.#hasInitiator = false;
    this.#joined = undefined;
    return all;
  }

  #leave(gone: JoinedRead): void {
    if (this.#joined?.delete(gone) !== true) return;
    gone.read.done("cancelled");
    this.#endUnread();
  }

  #endUnread(): void {
    if (this.#hasInitiator || (this.#joined?.size ?? 0) > 0) return;
    this.#owner.closed(this);
    this.#flow?.cancel();
  }
}
