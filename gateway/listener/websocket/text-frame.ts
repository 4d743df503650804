import type { Duplex } from "node:stream";

/** First byte of a frame (RFC 6455, section 5.2): a text message's first or only one, one that continues it, and the mark of the last. */
const text = 0x01;
const continuation = 0x00;
const last = 0x80;
/** Marks of a length in two bytes or in eight, which no frame here needs. */
const inTwoBytes = 126;
/** Most bytes of a message in one frame: a longer one goes in several, each written whole, so that what others write fits between them. */
const frameBytes = 65_000;
/** A tail from this size on is written as it is, so that all who get it share its bytes; shorter ones are copied, which costs less. */
const sharedBytes = 16_384;

/** Writes one frame, made of a start and a tail, to a WebSocket's connection; together they are no longer than a frame may be. */
export function writeTextFrame(connection: Duplex, start: Buffer, tail: Buffer): void {
  if (tail.length < sharedBytes) {
    connection.write(frame(text | last, start, tail));
    return;
  }
  connection.cork();
  connection.write(Buffer.concat([frameHead(text | last, start.length + tail.length), start]));
  connection.write(tail);
  connection.uncork();
}

/** Whether a message of so many bytes goes in one frame. */
export function isOneFrame(lengthBytes: number): boolean {
  return lengthBytes <= frameBytes;
}

/** The frames of a text message; a server's are not masked. */
export function* textFrames(message: Buffer): Generator<Buffer> {
  for (let at = 0; at === 0 || at < message.length; at += frameBytes) {
    const isLast = at + frameBytes >= message.length;
    const first = (at === 0 ? text : continuation) | (isLast ? last : 0);
    yield frame(first, nothing, message.subarray(at, at + frameBytes));
  }
}

const nothing = Buffer.alloc(0);

function frame(first: number, start: Buffer, tail: Buffer): Buffer {
  return Buffer.concat([frameHead(first, start.length + tail.length), start, tail]);
}

function frameHead(first: number, lengthBytes: number): Buffer {
  if (lengthBytes < inTwoBytes) return Buffer.from([first, lengthBytes]);
  return Buffer.from([first, inTwoBytes, lengthBytes >> 8, lengthBytes & 0xff]);
}
