/** A body that is larger than it may be. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  readonly code = "body_too_large";

  constructor(limitBytes: number) {
    super(`the body is larger than ${limitBytes} bytes`);
  }
}

/**
 * Reads a whole body, but never more than `limitBytes`; what is left is not fetched.
 *
 * @throws {BodyTooLargeError} when there is more.
 */
export async function readBody(response: Response, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > limitBytes) throw new BodyTooLargeError(limitBytes);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
