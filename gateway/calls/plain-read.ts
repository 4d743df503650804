import { buildCallKey, type TypicalCall } from "../json-rpc/call.ts";
import type { Method } from "../catalogue/method.ts";
import type { ChainHead } from "../chain/head.ts";
import type { ResponseFailure } from "../errors.ts";
import type { ResponseFlow } from "../responses/response-sink.ts";
import type { ResponseMemory } from "../responses/response-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { CacheLifetime, NodeRead, ReadInFlight, ReadContext } from "../reads/node-read.ts";
import type { CoalescedRead } from "../reads/coalesced-read.ts";
import type { BatchPiece } from "../upstream/batch-piece.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { TypicalResponses } from "../upstream/batch-responses.ts";
import type { PieceCall, PieceEntry } from "../upstream/piece-entry.ts";

/** Snapshot of the head, the cache and the clock, shared by plain reads that start in the same event loop tick: none of these changes within a tick. */
export type TickSnapshot = Readonly<{
  head: ChainHead | undefined;
  generation: number;
  epoch: number;
  startedAt: number;
}>;

/** The batch to which a plain read belongs. */
export type PlainReadOwner = Readonly<{
  caller: string;
  /** Counts responses until the batch is cancelled. */
  memory: ResponseMemory;
  traceContext: TraceContext | undefined;
  answered: (read: PlainRead, text: string) => void;
  /** Processes as many consecutive responses to the batch's reads as possible and returns how many. */
  answeredRun: (calls: readonly PieceCall[], from: number, answers: TypicalResponses) => number;
  /** Converts a plain read to a shared read with full state. */
  share: (read: PlainRead) => CoalescedRead;
}>;

/**
 * A read in a batch that neither the cache nor an in-flight read can answer. As long as nothing but its response happens, it is one small
 * object instead of a call's full state. It becomes a regular read when another read joins it, or when it fails, is cancelled or goes to
 * the node alone.
 */
export class PlainRead implements ResponseFlow, PieceCall, ReadInFlight, ReadContext {
  readonly call: TypicalCall;
  readonly place: number;
  readonly method: Method;
  readonly lifetime: CacheLifetime;
  readonly moment: TickSnapshot;
  isKept = false;
  readonly #owner: PlainReadOwner;
  #piece: BatchPiece | undefined;
  #own: Readonly<{ shared: CoalescedRead; entry: PieceEntry | undefined }> | undefined;

  constructor(
    call: TypicalCall,
    place: number,
    { method, lifetime, moment }: Readonly<{ method: Method; lifetime: CacheLifetime; moment: TickSnapshot }>,
    owner: PlainReadOwner,
  ) {
    this.call = call;
    this.place = place;
    this.method = method;
    this.lifetime = lifetime;
    this.moment = moment;
    this.#owner = owner;
  }

  /** Records the piece of the batch that carries the read to the node. */
  sentIn(piece: BatchPiece): void {
    this.#piece = piece;
  }

  get id(): string {
    return this.call.id;
  }

  get text(): string {
    return this.call.text;
  }

  get startsAt(): number {
    return this.call.startsAt;
  }

  get endsAt(): number {
    return this.call.endsAt;
  }

  get hash(): number {
    return this.call.hash;
  }

  get key(): string {
    return buildCallKey(this.call.method, this.call.params);
  }

  get generation(): number {
    return this.moment.generation;
  }

  get epoch(): number {
    return this.moment.epoch;
  }

  get timeoutMs(): number {
    return this.method.timeoutMs;
  }

  /** A piece that is being answered contains this read even after it was cancelled and replaced by its entry. */
  get isSettled(): boolean {
    return this.#own?.entry?.isSettled ?? false;
  }

  get caller(): string {
    return this.#owner.caller;
  }

  get memory(): ResponseMemory {
    return this.#owner.memory;
  }

  get traceContext(): TraceContext | undefined {
    return this.#owner.traceContext;
  }

  answer(text: string): void {
    if (this.#own === undefined) this.#owner.answered(this, text);
    else this.#own.entry?.answer(text);
  }

  answerRun(calls: readonly PieceCall[], from: number, answers: TypicalResponses): number {
    if (this.#own === undefined) return this.#owner.answeredRun(calls, from, answers);
    this.answer(answers.slice(from, from + 1));
    return 1;
  }

  /** Whether the read belongs to this batch and is still a plain read. */
  isOf(owner: PlainReadOwner): boolean {
    return this.#own === undefined && this.#owner === owner;
  }

  fail(failure: ResponseFailure): void {
    this.#become().entry?.fail(failure);
  }

  requestAlone(pool: NodeSender): void {
    this.#become().entry?.requestAlone(pool);
  }

  join(read: NodeRead): ResponseFlow {
    return this.#become().shared.join(read);
  }

  resume(): void {
    this.#own?.shared.resume();
  }

  cancel(): void {
    this.#owner.memory[Symbol.dispose]();
    this.#become().shared.cancel();
  }

  #become() {
    if (this.#own !== undefined) return this.#own;
    const sharedRead = this.#owner.share(this);
    const entry = this.#piece?.exchange(this, sharedRead);
    if (entry !== undefined) sharedRead.takeOver(entry);
    this.#own = { shared: sharedRead, entry };
    return this.#own;
  }
}
