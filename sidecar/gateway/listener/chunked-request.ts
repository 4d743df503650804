import { isWasteful } from "./chunk-economy.ts";

/** Longest line of a chunk's size that is read here, with its end. */
const sizeLineBytes = 10;
const sizeLine = /^[0-9a-fA-F]{1,8}\r\n$/;
const carriageReturn = 0x0d;
const newline = 0x0a;

/** A chunked body as far as it was read: `partial`, more is to come; `odd`, not of the plain form that is read here; `wasteful`, see {@link isWasteful}. */
export type ChunkedReading =
  | Readonly<{ kind: "whole"; body: Buffer; endsAt: number }>
  | Readonly<{ kind: "partial" }>
  | Readonly<{ kind: "odd" }>
  | Readonly<{ kind: "wasteful" }>;

const partial = { kind: "partial" } as const;
const odd = { kind: "odd" } as const;
const wasteful = { kind: "wasteful" } as const;

/**
 * Reads the chunked body of a request that begins at `startsAt` of its bytes: plain sizes, no extensions, no trailers (RFC 9112,
 * section 7.1). Called again with more bytes, it goes on where it was.
 */
export class ChunkedRequest {
  readonly #startsAt: number;
  readonly #limitBytes: number;
  #at: number;
  #length = 0;
  #chunks = 0;

  /** @param limitBytes Of the body; a longer one is odd. */
  constructor(startsAt: number, limitBytes: number) {
    this.#startsAt = startsAt;
    this.#at = startsAt;
    this.#limitBytes = limitBytes;
  }

  read(bytes: Buffer): ChunkedReading {
    for (;;) {
      const lineEnd = bytes.indexOf(newline, this.#at) + 1;
      if (lineEnd === 0) return bytes.length - this.#at < sizeLineBytes ? partial : odd;
      const line = bytes.toString("latin1", this.#at, lineEnd);
      if (!sizeLine.test(line)) return odd;
      const size = Number.parseInt(line, 16);
      const end = lineEnd + size;
      if (this.#length + size > this.#limitBytes) return odd;
      if (bytes.length < end + 2) return partial;
      if (bytes[end] !== carriageReturn || bytes[end + 1] !== newline) return odd;
      this.#at = end + 2;
      if (size === 0) return { kind: "whole", body: this.#joined(bytes), endsAt: this.#at };
      this.#length += size;
      this.#chunks += 1;
      if (isWasteful(this.#chunks, this.#length)) return wasteful;
    }
  }

  /** Goes over the sizes once more, so that nothing is kept of each of many small chunks. */
  #joined(bytes: Buffer): Buffer {
    const body = Buffer.allocUnsafeSlow(this.#length);
    let at = this.#startsAt;
    for (let length = 0; length < this.#length;) {
      const start = bytes.indexOf(newline, at) + 1;
      const size = Number.parseInt(bytes.toString("latin1", at, start), 16);
      bytes.copy(body, length, start, start + size);
      length += size;
      at = start + size + 2;
    }
    return body;
  }
}
