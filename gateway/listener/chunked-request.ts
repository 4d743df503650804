import { readHeaderLines } from "./header-lines.ts";

/** Max length of a chunk-size line that is parsed here, including its extensions and line ending. */
const sizeLineBytes = 256;
/** Max total size of the chunk extensions in one body, in bytes. */
const extensionBytes = 8_192;
/** Max length of a trailer section that is parsed here, including the empty line that ends it. */
const trailerBytes = 4_096;
const token = "[\\w!#$%&'*+.^`|~-]+";
/** A chunk size, and extensions, which are ignored (RFC 9112, section 7.1.1). */
const sizeLine = new RegExp(`^[0-9a-fA-F]{1,8}(?:;${token}(?:=(?:${token}|"[ !#-\\[\\]-~]*"))?)*\r\n$`);
const sizeLineStart = /^[0-9a-fA-F]{0,8}(?:;[^\n]*)?\r?$/;
const carriageReturn = 0x0d;
const newline = 0x0a;
const headEnd = "\r\n\r\n";
/** Value of each byte as a hexadecimal digit. */
const notDigit = 16;
const digits = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(digit) ? notDigit : digit;
});
/** Max digits of a chunk size. */
const sizeDigits = 8;

/** A chunked body as parsed so far. `partial`: incomplete; `odd`: not in a form that is parsed here; `wasteful`: see {@link isWasteful}. */
export type ChunkedReading =
  | Readonly<{ kind: "whole"; body: Buffer; endsAt: number }>
  | Readonly<{ kind: "partial" }>
  | Readonly<{ kind: "odd" }>
  | Readonly<{ kind: "wasteful" }>;

const partial = { kind: "partial" } as const;
const odd = { kind: "odd" } as const;
const wasteful = { kind: "wasteful" } as const;

/** A chunk's size line: the size, the offset after the line, and the length of the chunk's extensions. */
type SizeLine = Readonly<{ size: number; endsAt: number; extensionBytes: number }>;

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
      const line = readPlainLine(bytes, this.#at) ?? this.#readLine(bytes);
      if ("kind" in line) return line;
      const { size, endsAt: lineEnd } = line;
      if (size === 0) return this.#readEnd(bytes, lineEnd);
      const end = lineEnd + size;
      if (this.#length + size > this.#limitBytes) return odd;
      if (bytes.length < end + 2) return partial;
      if (bytes[end] !== carriageReturn || bytes[end + 1] !== newline) return odd;
      this.#extensionBytes += line.extensionBytes;
      if (this.#extensionBytes > extensionBytes) return odd;
      this.#at = end + 2;
      this.#length += size;
      this.#chunks += 1;
      if (isWasteful(this.#chunks, this.#length)) return wasteful;
    }
  }

  /** Parses a line that has extensions, is incomplete, or is not in a form that is parsed here. */
  #readLine(bytes: Buffer): SizeLine | typeof partial | typeof odd {
    const endsAt = bytes.indexOf(newline, this.#at) + 1;
    if (endsAt === 0) return this.#mayBecomeLine(bytes) ? partial : odd;
    const line = bytes.toString("latin1", this.#at, Math.min(endsAt, this.#at + sizeLineBytes));
    if (!sizeLine.test(line)) return odd;
    const extensionAt = line.indexOf(";");
    return {
      size: Number.parseInt(line, 16),
      endsAt,
      extensionBytes: extensionAt === -1 ? 0 : line.length - extensionAt,
    };
  }

  #mayBecomeLine(bytes: Buffer): boolean {
    const isShort = bytes.length - this.#at < sizeLineBytes;
    return isShort && sizeLineStart.test(bytes.toString("latin1", this.#at));
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
      const start = bytes.indexOf(newline, at) + 1;
      const size = Number.parseInt(bytes.toString("latin1", at, start), 16);
      bytes.copy(body, length, start, start + size);
      length += size;
      at = start + size + 2;
    }
    return { kind: "whole", body, endsAt };
  }
}

/** Parses a line that has nothing but a size, as nearly all have: a body in tiny chunks has thousands. */
function readPlainLine(bytes: Buffer, startsAt: number): SizeLine | undefined {
  let size = 0;
  let at = startsAt;
  for (; at < startsAt + sizeDigits; at += 1) {
    const digit = digits[bytes[at] ?? newline] ?? notDigit;
    if (digit === notDigit) break;
    size = size * 16 + digit;
  }
  const isLine = at > startsAt && bytes[at] === carriageReturn && bytes[at + 1] === newline;
  return isLine ? { size, endsAt: at + 2, extensionBytes: 0 } : undefined;
}

/** Number of chunks per body that may be of any size: a client that writes a call token by token sends a few thousand. */
export const uncheckedChunks = 4_096;
/** Min average bytes of the chunks beyond `uncheckedChunks`. */
export const averageBytesMin = 64;

/**
 * Whether a body's chunks are so small that parsing them costs far more than their bytes: node:http takes about a microsecond per chunk and
 * about a nanosecond per byte.
 */
export function isWasteful(chunks: number, bodyBytes: number): boolean {
  return chunks > uncheckedChunks && bodyBytes < chunks * averageBytesMin;
}
