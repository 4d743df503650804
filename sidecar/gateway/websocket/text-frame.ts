import type { Duplex } from "node:stream";

/** First byte of a whole text message, and the marks of a length in two or eight bytes (RFC 6455, section 5.2). */
const wholeText = 0x81;
const inTwoBytes = 126;
const inEightBytes = 127;
const mostInTwoBytes = 65_535;
/** A tail from this size on is written as it is, so that all who get it share its bytes; shorter ones are copied, which costs less. */
const sharedBytes = 16_384;

/** Writes one text message, made of a start and a tail, to a WebSocket's connection; a server's messages are not masked. */
export function writeTextFrame(connection: Duplex, start: Buffer, tail: Buffer): void {
  const lengthBytes = start.length + tail.length;
  const headBytes = lengthBytes < inTwoBytes ? 2 : lengthBytes <= mostInTwoBytes ? 4 : 10;
  const isShared = tail.length >= sharedBytes;
  const frame = Buffer.allocUnsafe(headBytes + start.length + (isShared ? 0 : tail.length));
  frame[0] = wholeText;
  if (headBytes === 2) frame[1] = lengthBytes;
  else if (headBytes === 4) {
    frame[1] = inTwoBytes;
    frame.writeUInt16BE(lengthBytes, 2);
  } else {
    frame[1] = inEightBytes;
    frame.writeBigUInt64BE(BigInt(lengthBytes), 2);
  }
  frame.set(start, headBytes);
  if (!isShared) {
    frame.set(tail, headBytes + start.length);
    connection.write(frame);
    return;
  }
  connection.cork();
  connection.write(frame);
  connection.write(tail);
  connection.uncork();
}
