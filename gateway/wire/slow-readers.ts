import type { Socket } from "node:net";

/** Longest time between two looks at how much clients have taken. */
const sweepMs = 1_000;

/** Clients that are cut off if they do not take what waits for them. */
export class SlowReaders implements Disposable {
  readonly #options: Readonly<{ slowReaderTimeoutMs: number }>;
  readonly #readers = new Map<Socket, Readonly<{ pace: ReaderPace; cut: () => void }>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: Readonly<{ slowReaderTimeoutMs: number }>) {
    this.#options = options;
    this.#timer = setInterval(() => this.#sweep(), Math.min(sweepMs, options.slowReaderTimeoutMs / 2)).unref();
  }

  /** Watches a client until its connection is gone. */
  add(socket: Socket, cut: () => void): void {
    if (!this.#readers.has(socket)) socket.once("close", () => this.#readers.delete(socket));
    this.#readers.set(socket, { pace: new ReaderPace(socket, this.#options), cut });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    const now = performance.now();
    for (const { pace, cut } of this.#readers.values()) if (pace.isTooSlow(now)) cut();
  }
}

/** Writable side of a client. */
type WrittenTo = Readonly<{ bytesWritten: number; writableLength: number }>;

/**
 * Judges whether a client takes what waits for it. Pieces are seen to be taken one by one (`ClientBacklog`): so a
 * client that takes less than a piece, or than all that waits, within its time is as slow as one that takes nothing.
 */
export class ReaderPace {
  readonly #socket: WrittenTo;
  readonly #slowReaderTimeoutMs: number;
  /** Time at which it was last seen to have taken something; undefined while nothing waits. */
  #since: number | undefined;
  #takenThen = 0;

  constructor(socket: WrittenTo, { slowReaderTimeoutMs }: Readonly<{ slowReaderTimeoutMs: number }>) {
    this.#socket = socket;
    this.#slowReaderTimeoutMs = slowReaderTimeoutMs;
  }

  /** Whether the client is too slow; to be called about once a second, with the time in milliseconds. */
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
