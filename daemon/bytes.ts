export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  readonly code = "body_too_large";
  readonly limitBytes: number;

  constructor(limitBytes: number) {
    super(`the body is larger than ${limitBytes} bytes`);
    this.limitBytes = limitBytes;
  }
}

/** A body from `node:http`, undici or `fetch`; null for a response without a body. */
export type Body = AsyncIterable<Uint8Array> | null;

/**
 * Yields the chunks of a body as they arrive, up to `limitBytes`. If the consumer stops reading or the limit is reached, destroys the
 * stream and closes its connection, because the unread rest of the body would block the next message on the connection.
 *
 * @throws {BodyTooLargeError} when the body exceeds `limitBytes`.
 */
export async function* limitChunks(body: Body, limitBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    if (length > limitBytes) throw new BodyTooLargeError(limitBytes);
    yield chunk;
  }
}

/**
 * Reads a whole body of at most `limitBytes`; closes it as {@link limitChunks} does.
 *
 * @throws {BodyTooLargeError} when the body exceeds `limitBytes`.
 */
export async function readBody(body: Body, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of limitChunks(body, limitBytes)) chunks.push(chunk);
  return joinChunks(chunks);
}

/**
 * Reads a whole body of at most `limitBytes` as UTF-8 text.
 *
 * @throws {BodyTooLargeError} when the body exceeds `limitBytes`.
 */
export async function readText(body: Body, limitBytes: number): Promise<string> {
  return new TextDecoder().decode(await readBody(body, limitBytes));
}

export type BodyStart = Readonly<{ bytes: Uint8Array<ArrayBuffer>; isTruncated: boolean }>;

/** Reads the first `limitBytes` of a body. A longer body is closed as in {@link limitChunks}, and the result is marked `isTruncated`. */
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

/** Joins chunks. Doesn't use `Buffer.concat`: a small result would share memory with other buffers and would not be a plain `Uint8Array`. */
export function joinChunks(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

export type DiscardLimits = Readonly<{ bytesMax: number; deadlineMs: number }>;

/**
 * Reads and discards the rest of a request's body, so that a client that is still sending can read the response: closing the connection at
 * once would reset it, and the response would be lost (RFC 9112, section 9.6). Returns whether the body ended within the limits.
 */
export async function discardBody(body: ReadableStream<Uint8Array> | null, limits: DiscardLimits): Promise<boolean> {
  if (body === null) return true;
  if (body.locked) return false;
  const reader = body.getReader();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void reader.cancel("the rest of the body was discarded");
  }, limits.deadlineMs);
  try {
    for (let size = 0; size <= limits.bytesMax;) {
      const { done, value } = await reader.read();
      // A cancelled reader reports `done` too.
      if (done) return !isLate;
      size += value.byteLength;
    }
    return false;
  } finally {
    clearTimeout(timer);
  }
}
