/** Max length of a chunk-size line, including its extensions. */
const sizeLineBytes = 256;
/** Max digits of a chunk size. */
const sizeDigits = 8;
const newline = 0x0a;
const carriageReturn = 0x0d;

/** Decodes a chunked body (RFC 9112, section 7.1) as it arrives. Trailers are ignored. */
export class ChunkedDecoder {
  #line = "";
  #left = 0;
  #state: "size" | "data" | "dataEnd" | "trailer" = "size";
  /** Offsets of the data within the bytes of the last read. */
  dataStart = 0;
  dataEnd = 0;

  /**
   * Processes the bytes from one read and compacts the data of its chunks in place, so that the data is contiguous however many chunks
   * there are. Returns `more`, `done` once the end of the body has been read, or `bad`.
   */
  push(bytes: Buffer): "more" | "done" | "bad" {
    let at = 0;
    this.dataStart = 0;
    this.dataEnd = 0;
    while (at < bytes.length) {
      if (this.#state === "data") {
        at = this.#readData(bytes, at);
        continue;
      }
      const usual = this.#line === "" ? this.#skipUsualLine(bytes, at) : at;
      if (usual > at) {
        at = usual;
        continue;
      }
      const lineEnd = bytes.indexOf(newline, at);
      const end = lineEnd === -1 ? bytes.length : lineEnd + 1;
      this.#line += bytes.toString("latin1", at, end);
      at = end;
      if (this.#line.length > sizeLineBytes) return "bad";
      if (lineEnd === -1) return "more";
      const line = this.#line.replace(/\r?\n$/, "");
      this.#line = "";
      const outcome = this.#readLine(line);
      if (outcome !== "more") return outcome === "done" && at < bytes.length ? "bad" : outcome;
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

  /**
   * Parses a line in the form that nearly all servers use, without creating a string: the end of a chunk, or a size without extensions.
   * Returns the end of the line, or `at` for any other line.
   */
  #skipUsualLine(bytes: Buffer, at: number): number {
    if (this.#state === "trailer") return at;
    let end = at;
    let size = 0;
    if (this.#state === "size") {
      for (
        let digit = parseHexDigit(bytes[end]);
        digit !== -1 && end - at < sizeDigits;
        digit = parseHexDigit(bytes[end])
      ) {
        size = size * 16 + digit;
        end += 1;
      }
      if (end === at) return at;
    }
    if (bytes[end] !== carriageReturn || bytes[end + 1] !== newline) return at;
    if (this.#state === "dataEnd") this.#state = "size";
    else this.#begin(size);
    return end + 2;
  }

  #readLine(line: string): "more" | "done" | "bad" {
    if (this.#state === "dataEnd") {
      this.#state = "size";
      return line === "" ? "more" : "bad";
    }
    if (this.#state === "trailer") return line === "" ? "done" : "more";
    const size = /^([0-9a-fA-F]{1,8})\s*(;.*)?$/.exec(line)?.[1];
    if (size === undefined) return "bad";
    this.#begin(Number.parseInt(size, 16));
    return "more";
  }

  #begin(size: number): void {
    this.#left = size;
    this.#state = size === 0 ? "trailer" : "data";
  }
}

/** Returns the value of a hexadecimal digit from its character code, or -1. */
function parseHexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
