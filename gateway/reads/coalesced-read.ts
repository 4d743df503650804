import type { ResponseFailure } from "../errors.ts";
import {
  ResponseParts,
  type ResponseFlow,
  type ResponseSink,
  type ResponseSource,
} from "../responses/response-sink.ts";
import type { NodeRead, ReadInFlight, ReadContext, CacheLifetime } from "./node-read.ts";
import {
  copyText,
  formatNodeResponse,
  formatCall,
  readNodeResponse,
  type NodeResponse,
} from "../json-rpc/read-answer.ts";
import type { NodeCall, NodeFlow, NodeSender } from "../upstream/node-call.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";

/** Dependencies shared by all coalesced reads: the pool, the response limit and callbacks. */
export type SharedReadOwner = Readonly<{
  pool: NodeSender;
  limitBytes: number;
  /** Called when no more readers can join. */
  end: (shared: CoalescedRead) => void;
  /** Called with the node's result if the cache should store it. */
  keep: (shared: CoalescedRead, json: string) => void;
  /** Serves a reader through a separate call, because the response is too long to be shared. */
  alone: (read: NodeRead) => ResponseFlow;
}>;

/**
 * One call to the node that serves several identical reads. Each reader gets its own id. The first reader gets the node's bytes unchanged,
 * streamed if the response is too long to be shared. The call is cancelled when its last reader leaves. One object is both the flow control
 * of the first reader's response and the call sent to the node, because a batch has many in flight.
 */
export class CoalescedRead implements ResponseFlow, ResponseSink, NodeCall, ReadContext, ReadInFlight {
  readonly wantsWhole = true;
  readonly repeatable = true;
  readonly body: string;
  readonly read: NodeRead;
  readonly lifetime: CacheLifetime;
  readonly generation: number;
  readonly epoch: number;
  readonly isKept: boolean;
  readonly #owner: SharedReadOwner;
  #hasInitiator = true;
  #isStreaming = false;
  /** Created when a second reader joins: most reads have one reader. */
  #joined: Set<JoinedRead> | undefined;
  #flow: NodeFlow | undefined;
  /** Exists only while a response arrives in several chunks, until it is complete or too long to share. Most responses arrive whole. */
  #parts: ResponseParts | undefined;
  #lengthBytes: number | undefined;
  #source: ResponseSource = "node";

  constructor(read: NodeRead, { lifetime, generation, epoch, isKept }: ReadContext, owner: SharedReadOwner) {
    const { id, method, params, wire } = read;
    this.read = read;
    this.body = wire ?? formatCall(id, method.name, params);
    this.lifetime = lifetime;
    this.generation = generation;
    this.epoch = epoch;
    this.isKept = isKept;
    this.#owner = owner;
  }

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

  get hash(): number {
    return this.read.hash;
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

  /** Adds another caller's identical read: from now on, the call to the node also uses that caller's scheduling rounds. */
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
    this.read.cancelled();
    this.#endUnread();
  }

  /** Responds to all readers. A response that has only one reader and is not cached is not parsed. */
  bytes(body: Buffer, source: ResponseSource): void {
    const response = this.#isRead ? readNodeResponse(body.toString("latin1"), this.read.id) : undefined;
    if (this.isKept && response?.kind === "result") this.#owner.keep(this, response.json);
    const { first, joined } = this.#close();
    first?.bytes(body, source);
    respondToJoined(response, joined);
  }

  text(text: string, source: ResponseSource): void {
    const response = this.#isRead ? readNodeResponse(text, this.read.id) : undefined;
    if (this.isKept && response?.kind === "result") this.#owner.keep(this, copyText(response.json));
    const { first, joined } = this.#close();
    first?.text(text, source);
    respondToJoined(response, joined);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    const { limitBytes } = this.#owner;
    this.#lengthBytes = lengthBytes;
    this.#source = source;
    this.#parts = new ResponseParts(limitBytes, undefined);
    if (lengthBytes !== undefined && lengthBytes > limitBytes) this.#stream(this.#parts);
  }

  chunk(bytes: Buffer): boolean {
    if (this.#parts === undefined) return !this.#isStreaming || this.read.chunk(bytes);
    if (this.#parts.hold(bytes) !== undefined) this.#stream(this.#parts);
    return true;
  }

  end(): void {
    if (this.#parts !== undefined) this.bytes(this.#parts.joined(), this.#source);
    else if (this.#isStreaming) this.read.end();
  }

  fail(failure: ResponseFailure): void {
    if (this.#isStreaming) {
      this.read.fail(failure);
      return;
    }
    const { first, joined } = this.#close();
    first?.fail(failure);
    for (const { read } of joined) read.fail(failure);
  }

  get #isRead(): boolean {
    return this.isKept || (this.#joined?.size ?? 0) > 0;
  }

  /** Streams a response that is too long to be shared to the first reader; the others get their own. */
  #stream(soFar: ResponseParts): void {
    this.#parts = undefined;
    const { first, joined } = this.#close();
    for (const left of joined) left.own = this.#owner.alone(left.read);
    if (first === undefined) {
      this.#flow?.cancel();
      return;
    }
    this.#isStreaming = true;
    first.begin(this.#lengthBytes, this.#source);
    for (const part of soFar.release()) first.chunk(part);
  }

  #close(): Readonly<{ first: NodeRead | undefined; joined: Iterable<JoinedRead> }> {
    this.#owner.end(this);
    const all = { first: this.#hasInitiator ? this.read : undefined, joined: this.#joined ?? [] };
    this.#hasInitiator = false;
    this.#joined = undefined;
    return all;
  }

  #leave(gone: JoinedRead): void {
    if (this.#joined?.delete(gone) !== true) return;
    gone.read.cancelled();
    this.#endUnread();
  }

  #endUnread(): void {
    if (this.#hasInitiator || (this.#joined?.size ?? 0) > 0) return;
    this.#owner.end(this);
    this.#flow?.cancel();
  }
}

/** A read that joined the first reader of a call to the node. It becomes a separate call if the response is too long to be shared. */
class JoinedRead implements ResponseFlow {
  readonly read: NodeRead;
  own: ResponseFlow | undefined;
  readonly #leave: (joined: JoinedRead) => void;

  constructor(read: NodeRead, leave: (joined: JoinedRead) => void) {
    this.read = read;
    this.#leave = leave;
  }

  resume(): void {
    this.own?.resume();
  }

  cancel(): void {
    if (this.own === undefined) this.#leave(this);
    else this.own.cancel();
  }
}

/** Sends a shared response to its readers, each under its own id. */
function respondToJoined(response: NodeResponse | undefined, joined: Iterable<JoinedRead>): void {
  for (const { read } of joined) {
    if (response === undefined) read.fail("badAnswer");
    else read.text(formatNodeResponse(read.id, response), "coalesced");
  }
}
