/** Max length of a chunk-size line, including its extensions, and of a trailer. */
const lineBytesMax = 256;
const sizeDigits = 8;
const tab = 0x09;
const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const semicolon = 0x3b;

/** Decodes a chunked body (RFC 9112, section 7.1) as it arrives. Extensions and trailers are ignored. */
export class ChunkedDecoder {
  #state: "size" | "space" | "extension" | "data" | "dataEnd" | "trailer" | "end" = "size";
  /** Remaining bytes of the current chunk; in a size line, its size so far. */
  #left = 0;
  /** Length of the current line so far, without its line ending, half of which may have been read. */
  #lineBytes = 0;
  #isReturned = false;
  /** Offsets of the data within the bytes of the last read. */
  dataStart = 0;
  dataEnd = 0;

  /** Processes one read, compacting the data of its chunks in place; `done` at the end of the body. */
  push(bytes: Buffer): "more" | "done" | "bad" {
    let at = 0;
    this.dataStart = 0;
    this.dataEnd = 0;
    while (at < bytes.length) {
      if (this.#state === "data") {
        at = this.#readData(bytes, at);
        continue;
      }
      if (!this.#readLineByte(bytes[at] ?? 0)) return "bad";
      at += 1;
      if (this.#state === "end") return at === bytes.length ? "done" : "bad";
    }
    return "more";
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    if (this.dataEnd > this.dataStart) bytes.copyWithin(this.dataEnd, at, end);
    else {
      this.dataStart = at;
      this.dataEnd = at;
    }
    this.dataEnd += end - at;
    this.#left -= end - at;
    if (this.#left === 0) this.#state = "dataEnd";
    return end;
  }

  /** Processes a byte outside of the data. Returns whether it is valid. */
  #readLineByte(byte: number): boolean {
    if (byte === newline) return this.#endLine();
    if (this.#isReturned) return false;
    if (byte === carriageReturn) {
      this.#isReturned = true;
      return true;
    }
    this.#lineBytes += 1;
    const digit = this.#state === "size" ? parseHexDigit(byte) : -1;
    if (digit !== -1) {
      this.#left = this.#left * 16 + digit;
      return this.#lineBytes <= sizeDigits;
    }
    if (this.#lineBytes > lineBytesMax || this.#state === "dataEnd") return false;
    if (this.#state === "extension" || this.#state === "trailer") return true;
    // At least one digit precedes the space or the extension after a size.
    if (this.#lineBytes === 1) return false;
    this.#state = byte === semicolon ? "extension" : "space";
    return byte === semicolon || byte === space || byte === tab;
  }

  #endLine(): boolean {
    const isEmpty = this.#lineBytes === 0;
    this.#lineBytes = 0;
    this.#isReturned = false;
    if (this.#state === "dataEnd") this.#state = "size";
    else if (this.#state !== "trailer") {
      if (isEmpty) return false;
      this.#state = this.#left === 0 ? "trailer" : "data";
    } else if (isEmpty) this.#state = "end";
    return true;
  }
}

function parseHexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
