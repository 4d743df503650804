import type { SharedTurns } from "./shared-turns.ts";

/** One connection's place among those that wait for their turn. */
export class TurnWait {
  readonly #turns: SharedTurns;
  readonly #goOn: () => void;
  #isWaiting = false;

  /** `goOn` is called when the turn has come, whatever became of the connection meanwhile. */
  constructor(turns: SharedTurns, goOn: () => void) {
    this.#turns = turns;
    this.#goOn = goOn;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Waits for one of the caller's turns when the time of this one is over. Answers whether it waits. */
  waitIfOver(caller: () => string): boolean {
    if (this.#isWaiting) return true;
    if (!this.#turns.isOver()) return false;
    this.#wait(caller());
    return true;
  }

  /** Waits for one of the caller's turns before something short that came alone, if the caller may have no more in this one. Answers whether it waits. */
  waitToBegin(caller: () => string): boolean {
    if (this.#isWaiting) return true;
    if (!this.#turns.isOver()) return false;
    const key = caller();
    if (this.#turns.mayBegin(key)) return false;
    this.#wait(key);
    return true;
  }

  #wait(caller: string): void {
    this.#isWaiting = true;
    this.#turns.wait(caller, () => {
      this.#isWaiting = false;
      this.#goOn();
    });
  }
}
