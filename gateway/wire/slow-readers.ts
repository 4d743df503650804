import type { Socket } from "node:net";

/** Max interval between checks of how much clients have read. */
const sweepMs = 1_000;

/** Clients that are disconnected if they do not read the data waiting for them. */
export class SlowReaders implements Disposable {
  readonly #options: Readonly<{ slowReaderTimeoutMs: number }>;
  readonly #readers = new Map<Socket, Readonly<{ pace: ReaderPace; cut: () => void }>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: Readonly<{ slowReaderTimeoutMs: number }>) {
    this.#options = options;
    this.#timer = setInterval(() => this.#sweep(), Math.min(sweepMs, options.slowReaderTimeoutMs / 2)).unref();
  }

  /** Watches a client until its connection is closed. */
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
 * Detects slow clients. Reading is measured in whole pieces (`ClientBacklog`): a client that, within the time allowed, reads less than a
 * piece and less than everything that is waiting counts as reading nothing.
 */
export class ReaderPace {
  readonly #socket: WrittenTo;
  readonly #slowReaderTimeoutMs: number;
  /** When the client was last seen to have read something; undefined while nothing is waiting. */
  #since: number | undefined;
  #takenThen = 0;

  constructor(socket: WrittenTo, { slowReaderTimeoutMs }: Readonly<{ slowReaderTimeoutMs: number }>) {
    this.#socket = socket;
    this.#slowReaderTimeoutMs = slowReaderTimeoutMs;
  }

  /** Returns whether the client is too slow. Call it about once a second, with the time in milliseconds. */
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
