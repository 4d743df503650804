import type { ResponseFailure } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { TypicalResponses } from "./batch-responses.ts";
import type { NodeCall, NodeFlow, NodeSender } from "./node-call.ts";

type EntryPiece = Readonly<{
  left: () => void;
  joined: (caller: string) => void;
}>;

/** A call in a piece: an entry, or a plain read that serves as its own entry. */
export type PieceCall = Readonly<{
  id: string;
  /** Text that contains the call's request, and the offsets of the request within that text. */
  text: string;
  startsAt: number;
  endsAt: number;
  timeoutMs: number;
  /** The call's caller. A piece is sent with its first call's values of this and the following fields. */
  caller: string;
  memory?: HeldBytes | undefined;
  traceContext?: TraceContext | undefined;
  isSettled: boolean;
  answer: (text: string) => void;
  /** Delivers responses for this call, the call at `from`, and as many subsequent calls as possible; returns how many. */
  answerRun: (calls: readonly PieceCall[], from: number, answers: TypicalResponses) => number;
  fail: (failure: ResponseFailure) => void;
  requestAlone: (pool: NodeSender) => void;
}>;

/** One call in a piece. If the call is resent alone, the entry controls the resent call, too. */
export class PieceEntry implements NodeFlow, PieceCall {
  readonly call: NodeCall;
  readonly id: string;
  readonly text: string;
  readonly startsAt = 0;
  readonly endsAt: number;
  readonly timeoutMs: number;
  readonly caller: string;
  readonly memory: HeldBytes | undefined;
  readonly traceContext: TraceContext | undefined;
  isSettled = false;
  readonly #piece: EntryPiece;
  #own: NodeFlow | undefined;
  /** Created when the first other caller joins. */
  #joiners: Set<string> | undefined;

  constructor(call: NodeCall, piece: EntryPiece) {
    this.call = call;
    this.id = call.id;
    this.text = call.body;
    this.endsAt = call.body.length;
    this.timeoutMs = call.timeoutMs;
    this.caller = call.caller;
    this.memory = call.memory;
    this.traceContext = call.traceContext;
    this.#piece = piece;
  }

  answer(text: string): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.call.sink.text(text, "node");
  }

  answerRun(_calls: readonly PieceCall[], from: number, answers: TypicalResponses): number {
    this.answer(answers.slice(from, from + 1));
    return 1;
  }

  fail(failure: ResponseFailure): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.call.sink.fail(failure);
  }

  requestAlone(pool: NodeSender): void {
    if (this.isSettled) return;
    this.#own = pool.send(this.call);
    for (const caller of this.#joiners ?? []) this.#own.join(caller);
  }

  join(caller: string): void {
    if (this.#own !== undefined) this.#own.join(caller);
    else if (!this.isSettled) {
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
    else if (!this.isSettled) this.#piece.left();
    this.isSettled = true;
  }
}
