/** Longest line of a chunk's size that is read, with its extensions. */
const sizeLineBytes = 256;

/**
 * Decodes a chunked body (RFC 9112, section 7.1) as it arrives. Trailers are passed over.
 *
 * `push` hands the data in `bytes` to `onData` and answers `more`, `done` when the body's end was read, or `bad`.
 */
export class ChunkedDecoder {
  #line = "";
  #left = 0;
  #state: "size" | "data" | "dataEnd" | "trailer" = "size";

  push(bytes: Buffer, onData: (data: Buffer) => void): "more" | "done" | "bad" {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === "data") {
        const end = Math.min(bytes.length, at + this.#left);
        onData(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = "dataEnd";
        continue;
      }
      const newline = bytes.indexOf(0x0a, at);
      const end = newline === -1 ? bytes.length : newline + 1;
      this.#line += bytes.toString("latin1", at, end);
      at = end;
      if (this.#line.length > sizeLineBytes) return "bad";
      if (newline === -1) return "more";
      const line = this.#line.replace(/\r?\n$/, "");
      this.#line = "";
      const outcome = this.#takeLine(line);
      if (outcome !== "more") return outcome === "done" && at < bytes.length ? "bad" : outcome;
    }
    return "more";
  }

  #takeLine(line: string): "more" | "done" | "bad" {
    if (this.#state === "dataEnd") {
      this.#state = "size";
      return line === "" ? "more" : "bad";
    }
    if (this.#state === "trailer") return line === "" ? "done" : "more";
    const size = /^([0-9a-fA-F]{1,8})\s*(;.*)?$/.exec(line)?.[1];
    if (size === undefined) return "bad";
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? "trailer" : "data";
    return "more";
  }
}
