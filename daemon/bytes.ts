/** A body that is larger than it may be. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  readonly code = "body_too_large";

  constructor(limitBytes: number) {
    super(`the body is larger than ${limitBytes} bytes`);
  }
}

/** A body as `node:http`, undici and `fetch` give it; null for an answer without one. */
export type Body = AsyncIterable<Uint8Array> | null;

/**
 * Yields the chunks of a body as they arrive, `limitBytes` of them at most. Whoever stops reading, and the limit
 * itself, ends the body: its stream is destroyed, and its connection closed, because the rest of the body stands in the
 * way of whatever comes next on it.
 *
 * @throws {BodyTooLargeError} when there is more.
 */
export async function* boundChunks(body: Body, limitBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    if (length > limitBytes) throw new BodyTooLargeError(limitBytes);
    yield chunk;
  }
}

/**
 * Reads a whole body of at most `limitBytes`; ends it as {@link boundChunks} does.
 *
 * @throws {BodyTooLargeError} when there is more.
 */
export async function readBody(body: Body, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of boundChunks(body, limitBytes)) chunks.push(chunk);
  return joinChunks(chunks);
}

/**
 * Reads a whole body of at most `limitBytes` as UTF-8 text.
 *
 * @throws {BodyTooLargeError} when there is more.
 */
export async function readText(body: Body, limitBytes: number): Promise<string> {
  return new TextDecoder().decode(await readBody(body, limitBytes));
}

/** The start of a body. */
export type BodyStart = Readonly<{ bytes: Uint8Array<ArrayBuffer>; isTruncated: boolean }>;

/** Reads the first `limitBytes` of a body. One that has more is ended as {@link boundChunks} ends it, and `isTruncated`. */
export async function readBodyStart(body: Body, limitBytes: number): Promise<BodyStart> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > limitBytes) return { bytes: joinChunks(chunks).subarray(0, limitBytes), isTruncated: true };
  }
  return { bytes: joinChunks(chunks), isTruncated: false };
}

/** Joins chunks. Not by `Buffer.concat`: a small result would share its memory with other buffers, and would not be a plain `Uint8Array`. */
function joinChunks(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** Limits on reading an unwanted body. */
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
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void reader.cancel("the rest of the body is not read");
  }, limits.deadlineMs);
  try {
    for (let size = 0; size <= limits.bytesMax;) {
      const { done, value } = await reader.read();
      // A reader that is cancelled says the same.
      if (done) return !isLate;
      size += value.byteLength;
    }
    return false;
  } finally {
    clearTimeout(timer);
  }
}
