import { buildCallKey, type TypicalCall } from "../json-rpc/call.ts";
import type { Method } from "../catalogue/method.ts";
import type { ChainHead } from "../chain/chain-head.ts";
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

/**
 * Snapshot of chain head, cache and clock, none of which changes within a tick, for the plain reads that start in one tick.
 */
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
  /** Converts a read to one that several calls share, with a call's full state. */
  share: (read: PlainRead) => CoalescedRead;
}>;

/**
 * A read in a batch that neither the cache nor an in-flight read can answer. It is one small object instead of a call's full state, until
 * another read joins it, or it fails, is cancelled or goes to the node alone: then it becomes a regular read.
 */
export class PlainRead implements ResponseFlow, PieceCall, ReadInFlight, ReadContext {
  readonly call: TypicalCall;
  readonly slot: number;
  readonly method: Method;
  readonly lifetime: CacheLifetime;
  readonly snapshot: TickSnapshot;
  isKept = false;
  readonly #owner: PlainReadOwner;
  #piece: BatchPiece | undefined;
  #own: Readonly<{ shared: CoalescedRead; entry: PieceEntry | undefined }> | undefined;

  constructor(
    call: TypicalCall,
    slot: number,
    { method, lifetime, snapshot }: Readonly<{ method: Method; lifetime: CacheLifetime; snapshot: TickSnapshot }>,
    owner: PlainReadOwner,
  ) {
    this.call = call;
    this.slot = slot;
    this.method = method;
    this.lifetime = lifetime;
    this.snapshot = snapshot;
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
    return this.snapshot.generation;
  }

  get epoch(): number {
    return this.snapshot.epoch;
  }

  get timeoutMs(): number {
    return this.method.timeoutMs;
  }

  /** While a piece is being answered, it still contains this read, even if the read was cancelled and replaced by its entry. */
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
  belongsTo(owner: PlainReadOwner): boolean {
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
