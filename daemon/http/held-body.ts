import { BodyTooLargeError } from "../bytes.ts";
import type { ClientBytes } from "../memory/connection-memory.ts";

/**
 * Reads a request's body of at most `limitBytes` into a buffer that grows by doubling. Its size counts as memory of the client, as waiting
 * for the client. Returns undefined and releases the memory when the memory limit is reached; the rest of the body is not read.
 *
 * @throws {BodyTooLargeError} when the body exceeds `limitBytes`, after releasing the memory.
 */
export async function readHeldBody(
  body: ReadableStream<Uint8Array> | null,
  limitBytes: number,
  memory: ClientBytes,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  let buffer = new Uint8Array();
  let length = 0;
  let isWhole = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        isWhole = true;
        return buffer.subarray(0, length);
      }
      const needed = length + value.byteLength;
      if (needed > limitBytes) throw new BodyTooLargeError(limitBytes);
      if (needed > buffer.length) {
        const grown = Math.min(Math.max(needed, 2 * buffer.length), limitBytes);
        if (!memory.tryAcquire(grown - buffer.length)) return undefined;
        memory.waits(grown - buffer.length);
        buffer = growBuffer(buffer, grown);
      }
      buffer.set(value, length);
      length = needed;
    }
  } finally {
    memory.waits(-buffer.length);
    if (!isWhole) memory.release(buffer.length);
    reader.releaseLock();
  }
}

function growBuffer(buffer: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const grown = new Uint8Array(length);
  grown.set(buffer);
  return grown;
}
