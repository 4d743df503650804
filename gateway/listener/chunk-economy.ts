/** Chunks of one body that may be of any size: who writes a call token by token sends a few thousand. */
export const freeChunks = 4_096;
/** Bytes that chunks beyond them have on average, at least. */
export const leastBytes = 64;

/**
 * Whether a body comes in chunks so small that reading them takes far longer than its bytes are worth: each one costs node:http about a
 * microsecond, a byte of a body about a nanosecond.
 */
export function isWasteful(chunks: number, bodyBytes: number): boolean {
  return chunks > freeChunks && bodyBytes < chunks * leastBytes;
}
