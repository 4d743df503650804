import type { Socket } from "node:net";

/** Max number of waiting pieces, and their max total length; if either is exceeded, the pieces are written at once. */
const waitingPieces = 128;
const waitingBytes = 262_144;

/** Max length of a message that is worth queueing here. A longer message goes through the path that counts unread bytes. */
export const outboxBytes = 9_216;

/**
 * A piece for a socket: a text; the end offset of copied bytes, which start where the previous ones end; or a function to run with the
 * socket.
 */
type Piece = string | number | ((socket: Socket) => void);

/**
 * Short messages to be written to sockets. They are written together once the event loop has read everything received, not after each read:
 * a write that wakes a sleeping receiver costs more than the write itself, and the code that reads and the code that writes each stay in
 * the processor's caches. A single message is still written in the same event loop tick.
 */
export class Outbox {
  /** Buffers for messages that are too large to be queued. */
  readonly scratch = new ScratchBuffers();
  readonly #sockets: Socket[] = [];
  readonly #pieces: Piece[] = [];
  #copied: Buffer | undefined;
  #copiedTo = 0;
  #bytes = 0;
  #isArmed = false;
  readonly #atTicksEnd = () => {
    this.#isArmed = false;
    this.flush();
  };

  /** Writes a binary string; writes keep the order of calls. */
  write(socket: Socket, text: string): void {
    this.#add(socket, text, text.length);
  }

  /** Writes a binary string and the bytes after it, which are copied. */
  writeBytes(socket: Socket, text: string, body: Buffer): void {
    const length = text.length + body.length;
    if (this.#copiedTo + length > waitingBytes) this.flush();
    this.#copied ??= Buffer.allocUnsafeSlow(waitingBytes);
    this.#copied.write(text, this.#copiedTo, "latin1");
    this.#copied.set(body, this.#copiedTo + text.length);
    this.#copiedTo += length;
    this.#add(socket, this.#copiedTo, length);
  }

  /** Runs a function with a socket after everything that was written to the socket before. */
  after(socket: Socket, run: (socket: Socket) => void): void {
    this.#add(socket, run, 0);
  }

  /** Writes the waiting pieces at once. Call it before a socket is written to, ended or transferred by other means. */
  flush(): void {
    let start = 0;
    let isHeld = false;
    const sockets = this.#sockets;
    const pieces = this.#pieces;
    for (let at = 0; at < sockets.length; at += 1) {
      const socket = sockets[at];
      const piece = pieces[at] ?? "";
      if (socket === undefined) continue;
      if (typeof piece === "string") socket.write(piece, "latin1");
      else if (typeof piece === "function") piece(socket);
      else {
        if (this.#copied !== undefined) socket.write(this.#copied.subarray(start, piece));
        start = piece;
        isHeld ||= socket.writableLength > 0;
      }
    }
    // A socket still owns any bytes that it could not send at once.
    if (isHeld) this.#copied = undefined;
    sockets.length = 0;
    pieces.length = 0;
    this.#copiedTo = 0;
    this.#bytes = 0;
  }

  #add(socket: Socket, piece: Piece, length: number): void {
    this.#sockets.push(socket);
    this.#pieces.push(piece);
    this.#bytes += length;
    if (this.#sockets.length >= waitingPieces || this.#bytes >= waitingBytes) this.flush();
    else if (!this.#isArmed) {
      this.#isArmed = true;
      setImmediate(this.#atTicksEnd);
    }
  }
}

/** Max number of corked sockets. */
const socketsMax = 128;

/** Corks sockets until the event loop has read everything received, then writes everything together: the counterpart of `Outbox` for node:http. */
export class Corks {
  readonly #sockets = new Set<Socket>();
  #isArmed = false;

  add(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    if (this.#sockets.size >= socketsMax) this.#release();
    socket.cork();
    this.#sockets.add(socket);
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => {
      this.#isArmed = false;
      this.#release();
    });
  }

  #release(): void {
    for (const socket of this.#sockets) socket.uncork();
    this.#sockets.clear();
  }
}

/** Sizes of the smallest and largest scratch buffers: longer messages get their own memory. */
const scratchBytesMin = 16_384;
const scratchBytesMax = 131_072;

/** Reusable buffers, in powers of two. If a message can't be sent at once, it keeps its buffer. */
export class ScratchBuffers {
  /** One released buffer of each size. */
  readonly #free = new Map<number, Buffer | undefined>();

  /** Returns a buffer of this length with arbitrary content. The caller owns the buffer until `release`, which need not be called. */
  acquire(length: number): Buffer {
    const size = computeScratchSize(length);
    if (size > scratchBytesMax) return Buffer.allocUnsafeSlow(length);
    const buffer = this.#free.get(size) ?? Buffer.allocUnsafeSlow(size);
    this.#free.set(size, undefined);
    return buffer.subarray(0, length);
  }

  /** Releases an acquired buffer, which must not be read afterwards. */
  release(acquired: Buffer): void {
    const { buffer } = acquired;
    const size = buffer.byteLength;
    if (size < scratchBytesMin || size > scratchBytesMax || size !== computeScratchSize(size)) return;
    if (this.#free.get(size) === undefined) this.#free.set(size, Buffer.from(buffer));
  }
}

function computeScratchSize(length: number): number {
  let size = scratchBytesMin;
  while (size < length) size *= 2;
  return size;
}
