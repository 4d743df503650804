import type { AnswerFlow } from "../answers/answer-sink.ts";

/** The flow of an answer that begins later, unless its reader is gone by then. */
export class LateFlow implements AnswerFlow {
  #flow: AnswerFlow | undefined;
  #isCancelled = false;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Begins the answer. A reader may go while it begins, too. */
  begin(start: () => AnswerFlow): void {
    if (this.#isCancelled) return;
    this.#flow = start();
    if (this.isCancelled) this.#flow.cancel();
  }

  resume(): void {
    this.#flow?.resume();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#flow?.cancel();
  }
}
