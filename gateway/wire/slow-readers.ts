import type { Socket } from "node:net";
import { ReaderPace } from "./reader-pace.ts";

/** Longest time between two looks at how much clients have taken. */
const sweepMs = 1_000;

/** Clients that are cut off when they do not take what waits for them. */
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
