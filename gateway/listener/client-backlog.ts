import type { ClientBytes } from "#daemon/memory/connection-memory.ts";
import { copyToOwnMemory } from "#daemon/memory/received-bytes.ts";

type WrittenTo = Readonly<{
  writableNeedDrain: boolean;
  writableLength: number;
  write: (bytes: Buffer) => boolean;
  cork: () => void;
  uncork: () => void;
}>;

/** Max waiting bytes per write: a slow client's progress is measured in steps of this size. */
const pieceBytes = 65_536;
/** Max bytes written without copying while nothing is waiting. */
const directBytes = 81_920;
const emptyBuffer = Buffer.alloc(0);
/**
 * Bodies up to this size are copied into one buffer with their head; for larger ones, a second write costs less.
 */
const copiedBytes = 16_384;
/** Number of waiting bytes at which no more are requested. */
const flushThresholdBytes = 262_144;

/**
 * Bytes written for a client that has not read them yet. They count against the client connection's memory budget. Buffering them frees the
 * connection to the node while the client reads slowly. The owner calls `drained` when the target can accept more.
 */
export class ClientBacklog implements Disposable {
  readonly #target: WrittenTo;
  readonly #memory: ClientBytes;
  #queue: Readonly<{ head: Buffer; bytes: Buffer }>[] = [];
  /** Number of bytes of the queue's first item that were written. */
  #at = 0;
  /** Bytes in the queue; a buffer counts until all of it has been written. */
  #bytes = 0;
  /** Bytes buffered by the target itself that are counted. */
  #counted = 0;
  #isFull = false;
  #afterAll: (() => void)[] = [];

  constructor(target: WrittenTo, memory: ClientBytes) {
    this.#target = target;
    this.#memory = memory;
  }

  /** Whether the client has to read something before it is served further. */
  get isWaiting(): boolean {
    return this.#queue.length > 0 || this.#target.writableNeedDrain;
  }

  /** Whether any bytes wait to be sent, here or in the target. */
  get isSending(): boolean {
    return this.isWaiting || this.#target.writableLength > 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Writes bytes, in call order. Returns false if the caller should wait until `drained` returns true. A `head` is sent right before the
   * bytes, in the same write; the two are joined only when the client reads. With a head, `bytes` has at most `pieceBytes`.
   */
  write(bytes: Buffer, head: Buffer = emptyBuffer): boolean {
    if (!this.isWaiting && bytes.length <= directBytes) {
      if (!this.#send(head, bytes)) this.#count();
      return true;
    }
    const own = copyToOwnMemory(bytes);
    this.#queue.push({ head, bytes: own });
    this.#bytes += own.length;
    if (!this.#hold(own.length)) this.#isFull = true;
    this.#pump();
    return !this.#isFull;
  }

  /** Runs a function once everything has been written; if nothing is waiting here, runs it at once. */
  afterAll(run: () => void): void {
    if (this.#queue.length === 0) run();
    else this.#afterAll.push(run);
  }

  /** Continues writing when the target can accept more. Returns whether the caller may write more. */
  drained(): boolean {
    this.#pump();
    if (this.#bytes <= flushThresholdBytes) this.#isFull = false;
    return !this.#isFull;
  }

  [Symbol.dispose](): void {
    this.#hold(-this.#bytes - this.#counted);
    this.#queue = [];
    this.#bytes = 0;
    this.#counted = 0;
    this.#afterAll = [];
  }

  #pump(): void {
    for (let [first] = this.#queue; first !== undefined && !this.#target.writableNeedDrain; [first] = this.#queue) {
      const { head, bytes } = first;
      const end = Math.min(bytes.length, this.#at + pieceBytes);
      const piece = bytes.subarray(this.#at, end);
      const prefix = this.#at === 0 ? head : emptyBuffer;
      this.#at = end;
      if (end === bytes.length) {
        this.#at = 0;
        this.#queue.shift();
        this.#bytes -= bytes.length;
        this.#hold(-bytes.length);
      }
      this.#send(prefix, piece);
    }
    this.#count();
    if (this.#queue.length > 0) return;
    const then = this.#afterAll;
    this.#afterAll = [];
    for (const run of then) run();
  }

  #send(head: Buffer, bytes: Buffer): boolean {
    if (head.length === 0) return this.#target.write(bytes);
    if (bytes.length <= copiedBytes) return this.#target.write(Buffer.concat([head, bytes]));
    this.#target.cork();
    this.#target.write(head);
    const hasRoom = this.#target.write(bytes);
    this.#target.uncork();
    return hasRoom;
  }

  /** Counts the bytes buffered by the target itself while the client does not read them. */
  #count(): void {
    const held = this.#target.writableNeedDrain ? this.#target.writableLength : 0;
    this.#hold(held - this.#counted);
    this.#counted = held;
  }

  /** Reserves bytes, or releases them if negative. Returns whether the total is within the limit. */
  #hold(bytes: number): boolean {
    this.#memory.waits(bytes);
    if (bytes > 0) return this.#memory.hold(bytes);
    if (bytes < 0) this.#memory.release(-bytes);
    return true;
  }
}
