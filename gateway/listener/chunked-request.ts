import { hasTinyChunks, tinyChunksResponse } from "#daemon/http/request-chunks.ts";
import { bodyTooLarge, formatRawRejection } from "./http-errors.ts";

const carriageReturn = 0x0d;
const newline = 0x0a;
/** Value of each byte as a hexadecimal digit. */
const notDigit = 16;
const digits = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(digit) ? notDigit : digit;
});
const sizeDigits = 8;

/** A complete body and the offset after it, or the reason why there is none; `odd`: it is in a form that is not parsed here. */
export type ChunkedReading = Readonly<{ body: Buffer; endsAt: number }> | RequestRejection | "partial" | "odd";

/** The response to a request that is not read further. */
export type RequestRejection = Readonly<{ rejection: string }>;

/** Parses a request's chunked body (RFC 9112, section 7.1) as bytes arrive. Chunk extensions and trailers are odd. */
export class ChunkedRequest {
  readonly #startsAt: number;
  readonly #limitBytes: number;
  #at: number;
  #length = 0;
  #chunks = 0;

  /**
   * @param limitBytes Max bytes of the body.
   */
  constructor(startsAt: number, limitBytes: number) {
    this.#startsAt = startsAt;
    this.#at = startsAt;
    this.#limitBytes = limitBytes;
  }

  read(bytes: Buffer): ChunkedReading {
    for (;;) {
      const line = readSizeLine(bytes, this.#at);
      if (typeof line === "string") return line;
      const end = line.endsAt + line.size;
      if (this.#length + line.size > this.#limitBytes)
        return { rejection: formatRawRejection(bodyTooLarge(this.#limitBytes)) };
      if (bytes.length < end + 2) return "partial";
      if (bytes[end] !== carriageReturn || bytes[end + 1] !== newline) return "odd";
      if (line.size === 0) return { body: this.#join(bytes), endsAt: end + 2 };
      this.#at = end + 2;
      this.#length += line.size;
      this.#chunks += 1;
      if (hasTinyChunks(this.#chunks, this.#length)) return { rejection: tinyChunksResponse };
    }
  }

  /** Parses the sizes a second time instead of keeping state for each of many small chunks. */
  #join(bytes: Buffer): Buffer {
    const body = Buffer.allocUnsafeSlow(this.#length);
    let at = this.#startsAt;
    for (let length = 0; length < this.#length;) {
      const line = readSizeLine(bytes, at);
      if (typeof line === "string") break;
      bytes.copy(body, length, line.endsAt, line.endsAt + line.size);
      length += line.size;
      at = line.endsAt + line.size + 2;
    }
    return body;
  }
}

/** Parses a size line without a string: a body in tiny chunks has thousands. */
function readSizeLine(bytes: Buffer, startsAt: number): Readonly<{ size: number; endsAt: number }> | "partial" | "odd" {
  let size = 0;
  let at = startsAt;
  for (; at < startsAt + sizeDigits; at += 1) {
    const digit = digits[bytes[at] ?? newline] ?? notDigit;
    if (digit === notDigit) break;
    size = size * 16 + digit;
  }
  const [next, last] = [bytes[at], bytes[at + 1]];
  if (next === undefined || (next === carriageReturn && last === undefined)) return "partial";
  return at > startsAt && next === carriageReturn && last === newline ? { size, endsAt: at + 2 } : "odd";
}
