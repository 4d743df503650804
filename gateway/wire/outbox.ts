import type { Socket } from "node:net";
import { ScratchBuffers } from "./scratch-buffers.ts";

/** Max number of waiting pieces, and their max total length; if either is exceeded, the pieces are written at once. */
const waitingPieces = 128;
const waitingBytes = 262_144;

/**
 * Short messages to be written to sockets. They are written together once the event loop has read everything received, rather than after
 * each read. A write wakes its receiver, which costs more than the write itself if the receiver has just gone to sleep again. In addition,
 * the code that reads and the code that writes stay in the processor's caches. A single message is still written in the same event loop
 * tick.
 */
export type Outbox = Readonly<{
  /** Writes a binary string; writes keep the order of calls. */
  write: (socket: Socket, text: string) => void;
  /** Writes a binary string and the bytes after it, which are copied. */
  writeBytes: (socket: Socket, text: string, bytes: Buffer) => void;
  /** Runs a function with a socket after everything that was written to the socket before. */
  after: (socket: Socket, run: (socket: Socket) => void) => void;
  /** Writes the waiting pieces at once. Call it before a socket is written to, ended or transferred by other means. */
  flush: () => void;
  /** Buffers for messages that are too long to wait. */
  scratch: ScratchBuffers;
}>;

/** Max length of a message that should wait here. A longer message is written where the bytes that its reader has not read are counted. */
export const outboxBytes = 9_216;

export function createOutbox(): Outbox {
  const sockets: Socket[] = [];
  /** A piece for a socket: a text; the end of its bytes in `copied`, which start where the previous ones end; or a function to run with the socket. */
  const pieces: (string | number | ((socket: Socket) => void))[] = [];
  let copied: Buffer | undefined;
  let copiedTo = 0;
  let bytes = 0;
  let isArmed = false;

  const flush = () => {
    let start = 0;
    let isHeld = false;
    for (let at = 0; at < sockets.length; at += 1) {
      const socket = sockets[at];
      const piece = pieces[at] ?? "";
      if (socket === undefined) continue;
      if (typeof piece === "string") socket.write(piece, "latin1");
      else if (typeof piece === "function") piece(socket);
      else {
        if (copied !== undefined) socket.write(copied.subarray(start, piece));
        start = piece;
        isHeld ||= socket.writableLength > 0;
      }
    }
    // A socket still owns any bytes that it could not send at once.
    if (isHeld) copied = undefined;
    sockets.length = 0;
    pieces.length = 0;
    copiedTo = 0;
    bytes = 0;
  };
  const atTurnsEnd = () => {
    isArmed = false;
    flush();
  };
  const add = (socket: Socket, piece: (typeof pieces)[number], length: number) => {
    sockets.push(socket);
    pieces.push(piece);
    bytes += length;
    if (sockets.length >= waitingPieces || bytes >= waitingBytes) flush();
    else if (!isArmed) {
      isArmed = true;
      setImmediate(atTurnsEnd);
    }
  };
  return {
    write: (socket, text) => add(socket, text, text.length),
    writeBytes: (socket, text, body) => {
      const length = text.length + body.length;
      if (copiedTo + length > waitingBytes) flush();
      copied ??= Buffer.allocUnsafeSlow(waitingBytes);
      copied.write(text, copiedTo, "latin1");
      copied.set(body, copiedTo + text.length);
      copiedTo += length;
      add(socket, copiedTo, length);
    },
    after: (socket, run) => add(socket, run, 0),
    flush,
    scratch: new ScratchBuffers(),
  };
}

/** Max number of corked sockets. */
const socketsMax = 128;

/** Corks sockets until the event loop has read everything received, then writes everything together: the counterpart of `Outbox` for node:http. */
export type Corks = Readonly<{ add: (socket: Socket) => void }>;

export function createCorks(): Corks {
  const sockets = new Set<Socket>();
  let isArmed = false;
  const release = () => {
    for (const socket of sockets) socket.uncork();
    sockets.clear();
  };
  return {
    add: (socket) => {
      if (sockets.has(socket)) return;
      if (sockets.size >= socketsMax) release();
      socket.cork();
      sockets.add(socket);
      if (isArmed) return;
      isArmed = true;
      setImmediate(() => {
        isArmed = false;
        release();
      });
    },
  };
}
