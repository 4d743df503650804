import type { NodeFailure } from "../errors.ts";
import type { NodeCall, NodeFlow, NodeSender } from "./node-call.ts";

/** Callbacks of an entry to the piece that it is in. */
type EntryPiece = Readonly<{
  /** Called when its call is cancelled. */
  left: () => void;
  /** Called when another caller waits for its answer. */
  joined: (caller: string) => void;
}>;

/** One call in a piece; if it is sent again alone, the entry controls that. */
export class PieceEntry implements NodeFlow {
  readonly call: NodeCall;
  readonly #piece: EntryPiece;
  #own: NodeFlow | undefined;
  /** Created with the first other caller that joins. */
  #joiners: Set<string> | undefined;
  /** Whether it was cancelled, or has its answer. */
  isOver = false;

  constructor(call: NodeCall, piece: EntryPiece) {
    this.call = call;
    this.#piece = piece;
  }

  answer(text: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.call.sink.text(text, "node");
  }

  fail(failure: NodeFailure): void {
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
