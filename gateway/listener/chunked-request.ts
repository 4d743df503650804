import { readHeaderLines } from "./header-lines.ts";

/** Max length of a chunk-size line that is parsed here, including its extensions and line ending. */
const sizeLineBytes = 256;
/** Max total size of the chunk extensions in one body, in bytes. */
const extensionBytesMax = 8_192;
/** Max length of a trailer section that is parsed here, including the empty line that ends it. */
const trailerBytes = 4_096;
const token = "[\\w!#$%&'*+.^`|~-]+";
/** Extensions of a chunk, which are ignored, and the end of their line (RFC 9112, section 7.1.1). */
const extensions = new RegExp(`^(?:;${token}(?:=(?:${token}|"[ !#-\\[\\]-~]*"))?)+\r\n$`);
const carriageReturn = 0x0d;
const newline = 0x0a;
const semicolon = 0x3b;
const headEnd = "\r\n\r\n";
/** Value of each byte as a hexadecimal digit. */
const notDigit = 16;
const digits = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(digit) ? notDigit : digit;
});
/** Max digits of a chunk size. */
const sizeDigits = 8;

/** A chunked body as parsed so far. `partial`: incomplete; `odd`: not in a form that is parsed here; `wasteful`: see {@link hasTinyChunks}. */
export type ChunkedReading =
  | Readonly<{ kind: "whole"; body: Buffer; endsAt: number }>
  | Readonly<{ kind: "partial" }>
  | Readonly<{ kind: "odd" }>
  | Readonly<{ kind: "wasteful" }>;

const partial = { kind: "partial" } as const;
const odd = { kind: "odd" } as const;
const wasteful = { kind: "wasteful" } as const;

/**
 * Parses a request's chunked body from offset `startsAt` of its bytes (RFC 9112, section 7.1). Chunk extensions are skipped and trailers
 * dropped, provided they are unambiguous. When called again with more bytes, continues where it stopped.
 */
export class ChunkedRequest {
  readonly #startsAt: number;
  readonly #limitBytes: number;
  #at: number;
  #length = 0;
  #chunks = 0;
  #extensionBytes = 0;

  /**
   * @param limitBytes Max bytes of the body; a longer one is odd.
   */
  constructor(startsAt: number, limitBytes: number) {
    this.#startsAt = startsAt;
    this.#at = startsAt;
    this.#limitBytes = limitBytes;
  }

  read(bytes: Buffer): ChunkedReading {
    for (;;) {
      const line = readSizeLine(bytes, this.#at);
      if ("kind" in line) return line;
      const { size, endsAt: lineEnd } = line;
      if (size === 0) return this.#readEnd(bytes, lineEnd);
      const end = lineEnd + size;
      if (this.#length + size > this.#limitBytes) return odd;
      if (bytes.length < end + 2) return partial;
      if (bytes[end] !== carriageReturn || bytes[end + 1] !== newline) return odd;
      this.#extensionBytes += line.extensionBytes;
      if (this.#extensionBytes > extensionBytesMax) return odd;
      this.#at = end + 2;
      this.#length += size;
      this.#chunks += 1;
      if (hasTinyChunks(this.#chunks, this.#length)) return wasteful;
    }
  }

  /** Parses what follows the last chunk's line: an empty line, optionally preceded by trailers. */
  #readEnd(bytes: Buffer, startsAt: number): ChunkedReading {
    if (bytes.length < startsAt + 2) return partial;
    if (bytes[startsAt] === carriageReturn && bytes[startsAt + 1] === newline) return this.#whole(bytes, startsAt + 2);
    const section = bytes.toString("latin1", startsAt, startsAt + trailerBytes);
    const end = section.indexOf(headEnd);
    if (end === -1) return section.length < trailerBytes ? partial : odd;
    const trailers = readHeaderLines(section.slice(0, end + headEnd.length), bytes.subarray(startsAt), 0);
    // A trailer that would be meaningful in a head is left to node:http.
    if (trailers === undefined || Object.values(trailers).some((value) => value !== undefined)) return odd;
    return this.#whole(bytes, startsAt + end + headEnd.length);
  }

  /** Parses the sizes a second time instead of keeping state for each of many small chunks. */
  #whole(bytes: Buffer, endsAt: number): ChunkedReading {
    const body = Buffer.allocUnsafeSlow(this.#length);
    let at = this.#startsAt;
    for (let length = 0; length < this.#length;) {
      const line = readSizeLine(bytes, at);
      if ("kind" in line) return line;
      bytes.copy(body, length, line.endsAt, line.endsAt + line.size);
      length += line.size;
      at = line.endsAt + line.size + 2;
    }
    return { kind: "whole", body, endsAt };
  }
}

/** A chunk's size line: the size, the offset after the line, and the length of the chunk's extensions. */
type SizeLine = Readonly<{ size: number; endsAt: number; extensionBytes: number }>;

/** Parses a size line. Nearly all have nothing but a size: a body in tiny chunks has thousands, and none of them becomes a string. */
function readSizeLine(bytes: Buffer, startsAt: number): SizeLine | typeof partial | typeof odd {
  let size = 0;
  let at = startsAt;
  for (; at < startsAt + sizeDigits; at += 1) {
    const digit = digits[bytes[at] ?? newline] ?? notDigit;
    if (digit === notDigit) break;
    size = size * 16 + digit;
  }
  const next = bytes[at];
  if (next === undefined) return partial;
  if (at === startsAt) return odd;
  if (next === carriageReturn) {
    const last = bytes[at + 1];
    if (last === undefined) return partial;
    return last === newline ? { size, endsAt: at + 2, extensionBytes: 0 } : odd;
  }
  if (next !== semicolon) return odd;
  const lineEnd = startsAt + sizeLineBytes;
  const endsAt = bytes.subarray(0, lineEnd).indexOf(newline, at) + 1;
  if (endsAt === 0) return bytes.length < lineEnd ? partial : odd;
  return extensions.test(bytes.toString("latin1", at, endsAt)) ? { size, endsAt, extensionBytes: endsAt - at } : odd;
}

/** Number of chunks per body that may be of any size: a client that writes a call token by token sends a few thousand. */
export const uncheckedChunks = 4_096;
/** Min average bytes of the chunks beyond `uncheckedChunks`. */
export const averageBytesMin = 64;

/**
 * Whether a body's chunks are so small that parsing them costs far more than their bytes: node:http takes about a microsecond per chunk and
 * about a nanosecond per byte.
 */
export function hasTinyChunks(chunks: number, bodyBytes: number): boolean {
  return chunks > uncheckedChunks && bodyBytes < chunks * averageBytesMin;
}
