import type { ClientBytes } from "./connection-memory.ts";

const emptyBuffer = Buffer.alloc(0);

/**
 * Bytes in order of arrival, in one buffer that grows by doubling: bodies that arrive byte by byte take at most twice their size, and time
 * proportional to their size. Bytes returned by `bytes` never change; later writes only go after them.
 */
export class ReceivedBytes {
  #buffer: Buffer = emptyBuffer;
  #start = 0;
  #end = 0;
  /** Whether this object owns the buffer; a single piece is stored without copying. */
  #isOwn = false;

  get length(): number {
    return this.#end - this.#start;
  }

  /** Bytes of memory used. */
  get heldBytes(): number {
    return this.#buffer.length;
  }

  /** All bytes received and not dropped. */
  get bytes(): Buffer {
    const isAll = this.#start === 0 && this.#end === this.#buffer.length;
    return isAll ? this.#buffer : this.#buffer.subarray(this.#start, this.#end);
  }

  append(piece: Buffer): void {
    if (this.length === 0) {
      this.#replace(piece, piece.length, false);
      return;
    }
    const requiredBytes = this.length + piece.length;
    if (!this.#isOwn || this.#end + piece.length > this.#buffer.length) {
      const grownBuffer = Buffer.allocUnsafeSlow(Math.max(requiredBytes, 2 * this.length));
      grownBuffer.set(this.bytes);
      this.#replace(grownBuffer, this.length, true);
    }
    this.#buffer.set(piece, this.#end);
    this.#end += piece.length;
  }

  /** Copies the rest of a piece that was stored without copying, before its memory is reused. */
  own(): void {
    if (this.#isOwn || this.length === 0) return;
    const own = Buffer.allocUnsafeSlow(this.length);
    own.set(this.bytes);
    this.#replace(own, own.length, true);
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    this.#start += count;
    if (this.length <= 0) this.#replace(emptyBuffer, 0, false);
  }

  #replace(buffer: Buffer, end: number, isOwn: boolean): void {
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = end;
    this.#isOwn = isOwn;
  }
}

/** Returns bytes that keep nothing else alive: a slice of a buffer more than twice as large is copied. */
export function copyToOwnMemory(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > 2 * bytes.length ? Buffer.from(bytes) : bytes;
}

/** Max length of a message that is parsed at once, whatever the load, and whose bytes are not counted while it awaits its response. */
export const smallMessageBytes = 4_096;

/** Length above which a message is charged before it is parsed, and its caller checked before it arrives; it is parsed over several ticks. */
export const largeBytes = 65_536;

/** Size from which the bytes of an incomplete request are counted. */
const waitingBytes = 16_384;

/** Received but unanswered bytes on a connection, counted in the connection's memory. */
export class HeldRequests extends ReceivedBytes {
  readonly #memory: ClientBytes;
  readonly #uncountedBytes: number;
  #counted = 0;

  /** Fewer than `uncountedBytes` are not counted: most of the gateway's requests never have to wait. */
  constructor(memory: ClientBytes, uncountedBytes = waitingBytes) {
    super();
    this.#memory = memory;
    this.#uncountedBytes = uncountedBytes;
  }

  /**
   * Appends a piece whose buffer is reused after its read. A message that is not small is copied, because processing it may take longer; if
   * anything else remains after the read, `own` must copy it.
   */
  borrow(piece: Buffer): void {
    this.append(piece);
    if (piece.length > smallMessageBytes) this.own();
  }

  /** Returns all bytes. From now on they are accounted for at exactly their buffer's size, and no longer as waiting. */
  take(): Buffer {
    this.own();
    this.#memory.waits(-this.#counted);
    this.#counted = 0;
    return this.bytes;
  }

  override drop(count: number): void {
    super.drop(count);
    if (this.#counted > 0) this.count();
  }

  /** Counts the waiting bytes. Returns false if they exceed the memory limit. */
  count(): boolean {
    const held = this.length > this.#uncountedBytes ? this.heldBytes : 0;
    if (held === this.#counted) return true;
    const more = held - this.#counted;
    if (more > 0 && !this.#memory.tryAcquire(more)) return false;
    if (more < 0) this.#memory.release(-more);
    this.#memory.waits(more);
    this.#counted += more;
    return true;
  }
}
