/** Chunks of one body that may be of any size: who writes a call token by token sends a few thousand. */
const freeChunks = 4_096;
/** Bytes that chunks beyond them have on average, at least. */
const leastBytes = 64;

/**
 * Whether a body comes in chunks so small that reading them takes far longer than its bytes are worth: each one costs node:http about a
 * microsecond, a byte of a body about a nanosecond.
 */
export function isWasteful(chunks: number, bodyBytes: number): boolean {
  return chunks > freeChunks && bodyBytes < chunks * leastBytes;
}

/** What a client is told that sends such a body. */
export const wastefulChunks = {
  status: 400,
  message: `more than ${freeChunks} chunks of fewer than ${leastBytes} bytes on average; send larger chunks`,
} as const;

/** The same as node:http would write it, for the raw socket. */
export const wastefulRequest = [
  "HTTP/1.1 400 Bad Request",
  "Content-Type: text/plain; charset=utf-8",
  `Content-Length: ${wastefulChunks.message.length + 1}`,
  "Connection: close",
  "",
  `${wastefulChunks.message}\n`,
].join("\r\n");
