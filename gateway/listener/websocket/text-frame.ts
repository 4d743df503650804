import type { Duplex } from "node:stream";

/** First byte of a frame (RFC 6455, section 5.2): the text opcode, the continuation opcode, and the FIN bit. */
const text = 0x01;
const continuation = 0x00;
const last = 0x80;
/** Markers for a two-byte and an eight-byte length; four of the eight bytes are enough here. */
const inTwoBytes = 126;
const inEightBytes = 127;
const twoBytesMax = 65_535;
/** Max bytes of a frame, equal to one read from the node's socket, so that other writes can go between the frames of a longer message. */
const frameBytes = 65_536;
/** Size from which a frame's tail is written without copying, so that all receivers share its bytes; copying a shorter one is cheaper. */
const sharedBytes = 16_384;

/** Writes one frame, consisting of a start and a tail, to a WebSocket's connection; together they must fit in one frame. */
export function writeTextFrame(connection: Duplex, start: Buffer, tail: Buffer): void {
  const head = buildFrameHead(text | last, start.length + tail.length);
  if (tail.length < sharedBytes) {
    connection.write(Buffer.concat([head, start, tail]));
    return;
  }
  connection.cork();
  connection.write(Buffer.concat([head, start]));
  connection.write(tail);
  connection.uncork();
}

/** Whether a message of this length fits in one frame. */
export function isOneFrame(lengthBytes: number): boolean {
  return lengthBytes <= frameBytes;
}

/** A frame: its head, and the bytes that follow it in the same write. */
export type TextFrame = Readonly<{ head: Buffer; bytes: Buffer }>;

/** Encodes the parts of a text message as frames; a server's frames are not masked. */
export function* encodeTextFrames(parts: readonly Buffer[]): Generator<TextFrame> {
  const pieces = parts.flatMap(splitPart);
  if (pieces.length === 0) pieces.push(Buffer.alloc(0));
  for (const [at, bytes] of pieces.entries()) {
    const isLast = at === pieces.length - 1;
    yield { head: buildFrameHead((at === 0 ? text : continuation) | (isLast ? last : 0), bytes.length), bytes };
  }
}

/** Splits a part into pieces that each fit in a frame. */
function splitPart(part: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < part.length; at += frameBytes) pieces.push(part.subarray(at, at + frameBytes));
  return pieces;
}

function buildFrameHead(first: number, lengthBytes: number): Buffer {
  if (lengthBytes < inTwoBytes) return Buffer.from([first, lengthBytes]);
  if (lengthBytes <= twoBytesMax) return Buffer.from([first, inTwoBytes, lengthBytes >> 8, lengthBytes & 0xff]);
  const head = Buffer.alloc(10);
  head.set([first, inEightBytes]);
  head.writeUInt32BE(lengthBytes, head.length - 4);
  return head;
}
