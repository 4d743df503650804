const nothing = Buffer.alloc(0);

/**
 * Bytes in the order of their arrival, in one buffer that grows by doubling: bodies that come byte by byte cost at most twice their size,
 * and time in proportion to it. Bytes that `bytes` has returned stay as they were; only those after them are written.
 */
export class ReceivedBytes {
  #buffer: Buffer = nothing;
  #start = 0;
  #end = 0;
  /** Whether the buffer is this object's own; a piece that came alone is kept as it came. */
  #isOwn = false;

  get length(): number {
    return this.#end - this.#start;
  }

  /** Bytes of memory that it takes. */
  get heldBytes(): number {
    return this.#buffer.length;
  }

  /** All bytes that were received and not dropped. */
  get bytes(): Buffer {
    const isAll = this.#start === 0 && this.#end === this.#buffer.length;
    return isAll ? this.#buffer : this.#buffer.subarray(this.#start, this.#end);
  }

  append(piece: Buffer): void {
    if (this.length === 0) {
      this.#replace(piece, piece.length, false);
      return;
    }
    const needed = this.length + piece.length;
    if (!this.#isOwn || this.#end + piece.length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.length));
      grown.set(this.bytes);
      this.#replace(grown, this.length, true);
    }
    this.#buffer.set(piece, this.#end);
    this.#end += piece.length;
  }

  /** Copies what is left of a piece that was kept as it came, before its memory is used again. */
  own(): void {
    if (this.#isOwn || this.length === 0) return;
    const own = Buffer.allocUnsafeSlow(this.length);
    own.set(this.bytes);
    this.#replace(own, own.length, true);
  }

  /** Forgets the first `count` bytes. */
  drop(count: number): void {
    this.#start += count;
    if (this.length <= 0) this.#replace(nothing, 0, false);
  }

  #replace(buffer: Buffer, end: number, isOwn: boolean): void {
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = end;
    this.#isOwn = isOwn;
  }
}

/** Returns bytes that keep no more than themselves alive: a part of a buffer that is more than twice as large is copied. */
export function copyToOwnMemory(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > 2 * bytes.length ? Buffer.from(bytes) : bytes;
}
