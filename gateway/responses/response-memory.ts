import type { HeldBytes } from "#daemon/memory/connection-memory.ts";

/** Counts bytes in memory until a promise settles. */
export async function holdUntil<Known>(memory: HeldBytes, bytes: number, known: Promise<Known>): Promise<Known> {
  using held = new ResponseMemory(memory);
  held.hold(bytes);
  return await known;
}

/** Bytes counted for one response. Anything still counted is released when the response ends. */
export class ResponseMemory implements HeldBytes, Disposable {
  readonly #memory: HeldBytes;
  #bytes = 0;
  #isReleased = false;

  constructor(memory: HeldBytes) {
    this.#memory = memory;
  }

  hold(bytes: number): boolean {
    if (this.#isReleased) return true;
    this.#bytes += bytes;
    return this.#memory.hold(bytes);
  }

  tryAcquire(bytes: number): boolean {
    if (this.#isReleased || !this.#memory.tryAcquire(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    if (this.#isReleased) return;
    this.#bytes -= bytes;
    this.#memory.release(bytes);
  }

  [Symbol.dispose](): void {
    if (this.#bytes !== 0) this.#memory.release(this.#bytes);
    this.#bytes = 0;
    this.#isReleased = true;
  }
}
