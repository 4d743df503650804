/** Bytes that keep no more than themselves alive: a part of a buffer that is more than twice as large is copied. */
export function ownBytes(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > 2 * bytes.length ? Buffer.from(bytes) : bytes;
}
