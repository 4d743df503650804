/** How much of an unwanted body is read, and for how long. */
export type DiscardLimits = Readonly<{ bytesMax: number; deadlineMs: number }>;

/**
 * Reads the rest of a request's body and throws it away, so that a client that is still sending gets to read the answer: a
 * connection that closes at once is reset, and takes the answer with it (RFC 9112, section 9.6). Returns whether the body came
 * to its end within the limits.
 */
export async function discardBody(body: ReadableStream<Uint8Array> | null, limits: DiscardLimits): Promise<boolean> {
  if (body === null) return true;
  if (body.locked) return false;
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel("the rest of the body is not read"), limits.deadlineMs);
  try {
    for (let size = 0; size <= limits.bytesMax;) {
      const { done, value } = await reader.read();
      if (done) return true;
      size += value.byteLength;
    }
    return false;
  } finally {
    clearTimeout(timer);
  }
}
