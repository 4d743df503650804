import type { Readable, Writable } from "node:stream";
import { CallerRounds } from "../wire/caller-rounds.ts";

/** Time between two ticks, at each of which some of the refused bodies are read on. */
const tickMs = 10;
/**
 * Bytes of all of them together that are read in a tick: 16 MiB a second. To read a MiB takes the thread about a millisecond, and the garbage
 * collector as long.
 */
const tickBytes = 163_840;
/** Bytes by which one of them is read on in its turn: as many as come in one read. */
const turnBytes = 65_536;
/** Bytes of a refused body that are read, and the time for it, so that its sender gets to read the answer. */
const lingerBytes = 16_777_216;
const lingerMs = 2_000;

/** The readable side of a refused request, and the writable side of its answer. */
export type RefusedExchange = Readonly<{ request: Readable; response: Writable }>;

/**
 * Bodies of requests that were refused before they were whole. Their senders may finish before the connection closes (RFC 9112, section 9.6):
 * if it closed at once, its kernel would discard the answer with the reset. Their bytes are discarded at a pace that costs other callers
 * nothing, however fast they come: in turns by address, and by connection. Disposing of it stops the reading; the connections are their
 * server's to close.
 */
export class RefusedBodies implements Disposable {
  readonly #waiting = new CallerRounds<Readable>();
  /** Bytes that may still be read in this tick; negative if the last read exceeded them. */
  #roomBytes = tickBytes;
  #timer: NodeJS.Timeout | undefined;

  /** Reads the rest of a body that counts for `address`, and ends the answer, which is written, when all has come or enough was read. */
  discard({ request, response }: RefusedExchange, address: string): void {
    const late = setTimeout(() => response.end(), lingerMs);
    response.on("close", () => clearTimeout(late));
    let discarded = 0;
    let turnEnd = 0;
    const wait = () => {
      request.pause();
      turnEnd = discarded + turnBytes;
      this.#wait(address, request);
    };
    // Before anybody listens, which would begin the reading.
    wait();
    request.on("data", (part: Buffer) => {
      discarded += part.length;
      if (discarded > lingerBytes) {
        request.pause();
        response.end();
      } else if (discarded >= turnEnd) wait();
    });
    request.on("end", () => response.end());
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #wait(address: string, request: Readable): void {
    this.#waiting.add(address, request);
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
    this.#readOn();
  }

  #tick(): void {
    this.#roomBytes = Math.min(tickBytes, this.#roomBytes + tickBytes);
    if (this.#waiting.isEmpty) this[Symbol.dispose]();
    else this.#readOn();
  }

  #readOn(): void {
    while (this.#roomBytes > 0) {
      const request = this.#waiting.next();
      if (request === undefined) return;
      if (request.destroyed) continue;
      this.#roomBytes -= turnBytes;
      request.resume();
    }
  }
}
