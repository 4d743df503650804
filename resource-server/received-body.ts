import type { Dispatcher } from "undici";

/** Bytes that wait to be read, above which no more are received. */
const waitingBytesMax = 65_536;

/** The body of a response, read once while it is received. */
export class ReceivedBody implements AsyncIterable<Uint8Array> {
  readonly #controller: Pick<Dispatcher.DispatchController, "pause" | "resume" | "abort">;
  readonly #chunks: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(controller: Pick<Dispatcher.DispatchController, "pause" | "resume" | "abort">) {
    this.#controller = controller;
  }

  /** Adds what was received. */
  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#waitingBytes += chunk.byteLength;
    if (this.#waitingBytes > waitingBytesMax) this.#controller.pause();
    this.#wake?.();
  }

  /** Marks the body as complete. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Marks the body as broken; its reader gets the error. */
  fail(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) {
          const wasFull = this.#waitingBytes > waitingBytesMax;
          this.#waitingBytes -= chunk.byteLength;
          if (wasFull && this.#waitingBytes <= waitingBytesMax) this.#controller.resume();
          yield chunk;
          continue;
        }
        if (this.#error !== undefined) throw this.#error;
        if (this.#isOver) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      await this.cancel();
    }
  }

  /** Closes the connection, unless the body is complete. */
  async cancel(): Promise<void> {
    if (!this.#isOver && this.#error === undefined) this.#controller.abort(new Error("the rest is not read"));
  }
}
