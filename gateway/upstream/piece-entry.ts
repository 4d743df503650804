import type { ResponseFailure } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { TypicalResponses } from "./typical-responses.ts";
import type { NodeCall, NodeFlow, NodeSender } from "./node-call.ts";

/** Callbacks from an entry to its piece. */
type EntryPiece = Readonly<{
  /** Called when the entry's call is cancelled. */
  left: () => void;
  /** Called when another caller waits for the response. */
  joined: (caller: string) => void;
}>;

/** A call in a piece: an entry, or a plain read that serves as its own entry. */
export type PieceCall = Readonly<{
  /** The call's id, as JSON text. */
  id: string;
  /** Text that contains the call's request, and the offsets of the request within that text. */
  text: string;
  startsAt: number;
  endsAt: number;
  timeoutMs: number;
  /** The call's caller. The values of this and the following fields in a piece's first call are sent to the node with the piece. */
  caller: string;
  memory?: HeldBytes | undefined;
  traceContext?: TraceContext | undefined;
  /** Whether the call was cancelled or has its response. */
  isOver: boolean;
  answer: (text: string) => void;
  /** Delivers the responses to this call, to the call at `from`, and to as many calls after that as possible; returns how many. */
  answerRun: (calls: readonly PieceCall[], from: number, answers: TypicalResponses) => number;
  fail: (failure: ResponseFailure) => void;
  requestAlone: (pool: NodeSender) => void;
}>;

/** One call in a piece. If the call is resent alone, the entry controls the resent call, too. */
export class PieceEntry implements NodeFlow, PieceCall {
  readonly call: NodeCall;
  readonly startsAt = 0;
  readonly #piece: EntryPiece;
  #own: NodeFlow | undefined;
  /** Created when the first other caller joins. */
  #joiners: Set<string> | undefined;
  /** Whether the call was cancelled or has its response. */
  isOver = false;

  constructor(call: NodeCall, piece: EntryPiece) {
    this.call = call;
    this.#piece = piece;
  }

  get id(): string {
    return this.call.id;
  }

  get text(): string {
    return this.call.body;
  }

  get endsAt(): number {
    return this.call.body.length;
  }

  get timeoutMs(): number {
    return this.call.timeoutMs;
  }

  get caller(): string {
    return this.call.caller;
  }

  get memory(): HeldBytes | undefined {
    return this.call.memory;
  }

  get traceContext(): TraceContext | undefined {
    return this.call.traceContext;
  }

  answer(text: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.call.sink.text(text, "node");
  }

  answerRun(_calls: readonly PieceCall[], from: number, answers: TypicalResponses): number {
    this.answer(answers.slice(from, from + 1));
    return 1;
  }

  fail(failure: ResponseFailure): void {
    if (this.isOver) return;
    this.isOver = true;
    this.call.sink.fail(failure);
  }

  requestAlone(pool: NodeSender): void {
    if (this.isOver) return;
    this.#own = pool.send(this.call);
    for (const caller of this.#joiners ?? []) this.#own.join(caller);
  }

  join(caller: string): void {
    if (this.#own !== undefined) this.#own.join(caller);
    else if (!this.isOver) {
      this.#joiners ??= new Set();
      this.#joiners.add(caller);
      this.#piece.joined(caller);
    }
  }

  resume(): void {
    this.#own?.resume();
  }

  cancel(): void {
    if (this.#own !== undefined) this.#own.cancel();
    else if (!this.isOver) this.#piece.left();
    this.isOver = true;
  }
}
