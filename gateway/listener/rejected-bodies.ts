import type { Readable, Writable } from "node:stream";
import { CallerRounds } from "../wire/shared-turns.ts";

/** Interval between two ticks, each of which reads more of some rejected bodies. */
const tickMs = 10;
/** Max total bytes read per tick: 16 MiB per second. Reading a MiB takes the thread about a millisecond, and the garbage collector about as long. */
const tickBytes = 163_840;
/** Bytes read from one body per round: as many as a single read returns. */
const turnBytes = 65_536;
/** Max bytes read from a rejected body, and max time spent on it, so that the sender can read the response. */
const lingerBytes = 16_777_216;
const lingerMs = 2_000;

/** The readable side of a rejected request, and the writable side of the response to it. */
export type RejectedExchange = Readonly<{ request: Readable; response: Writable }>;

/**
 * Bodies of requests that were rejected before they were complete. Senders may finish before the connection closes (RFC 9112, section 9.6):
 * after an immediate close, the reset would make the sender's kernel discard the response. However fast the bytes arrive, they are read at
 * a rate that does not affect other callers: round-robin by address, then by connection. Disposal stops the reading; the server has to
 * close the connections.
 */
export class RejectedBodies implements Disposable {
  readonly #waiting = new CallerRounds<Readable>();
  /** Bytes that may still be read in this tick; negative if the last read exceeded the limit. */
  #roomBytes = tickBytes;
  #timer: NodeJS.Timeout | undefined;

  /** Discards the rest of a body, counted against `address`, up to the limits; then ends the response, which is already written. */
  discard({ request, response }: RejectedExchange, address: string): void {
    const late = setTimeout(() => response.end(), lingerMs);
    response.on("close", () => clearTimeout(late));
    let discardedBytes = 0;
    let turnEnd = 0;
    const wait = () => {
      request.pause();
      turnEnd = discardedBytes + turnBytes;
      this.#wait(address, request);
    };
    // Must come before a data listener is attached, which would start reading.
    wait();
    request.on("data", (part: Buffer) => {
      discardedBytes += part.length;
      if (discardedBytes > lingerBytes) {
        request.pause();
        response.end();
      } else if (discardedBytes >= turnEnd) wait();
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
