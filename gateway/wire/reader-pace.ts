/** What a client is written to by. */
type WrittenTo = Readonly<{ bytesWritten: number; writableLength: number }>;

/**
 * Finds out whether a client takes what waits for it. What is written in pieces is seen to be taken piece by piece (`ClientBacklog`): so a
 * client that takes less than a piece, or than all that waits, within the time that it has is as slow as one that takes nothing.
 */
export class ReaderPace {
  readonly #socket: WrittenTo;
  readonly #slowReaderTimeoutMs: number;
  /** When it was last seen to have taken something; undefined while nothing waits. */
  #since: number | undefined;
  #takenThen = 0;

  constructor(socket: WrittenTo, { slowReaderTimeoutMs }: Readonly<{ slowReaderTimeoutMs: number }>) {
    this.#socket = socket;
    this.#slowReaderTimeoutMs = slowReaderTimeoutMs;
  }

  /** To be asked about once a second, with the time in milliseconds. */
  isTooSlow(now: number): boolean {
    const { writableLength } = this.#socket;
    if (writableLength === 0) {
      this.#since = undefined;
      return false;
    }
    const taken = this.#socket.bytesWritten - writableLength;
    if (this.#since !== undefined && taken === this.#takenThen) return now - this.#since > this.#slowReaderTimeoutMs;
    this.#since = now;
    this.#takenThen = taken;
    return false;
  }
}
