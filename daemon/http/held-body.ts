import type { IncomingMessage } from "node:http";
import { BodyTooLargeError, type DiscardLimits } from "../bytes.ts";
import type { ClientBytes } from "../memory/connection-memory.ts";
import { HeldRequests } from "../memory/received-bytes.ts";

/** The client disconnected before its request was complete. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
  readonly code = "client_gone";
}

/**
 * Checks the declared length of a request body.
 *
 * @throws {BodyTooLargeError} when it exceeds `limitBytes`.
 */
export function rejectLargeBody({ headers }: IncomingMessage, limitBytes: number): void {
  if (Number(headers["content-length"] ?? 0) > limitBytes) throw new BodyTooLargeError(limitBytes);
}

/** Whether a body is uncompressed, by its Content-Encoding: `identity` is none, but some clients send it. */
export function isUnencoded(encoding: string | undefined): encoding is undefined {
  return encoding === undefined || /^identity$/i.test(encoding);
}

const shownEncodingLength = 40;

/** Describes the rejection of a body in this Content-Encoding. */
export function describeEncodedBody(encoding: string): string {
  const shown = encoding.slice(0, shownEncodingLength).replace(/[^\x20-\x7e]/g, "?");
  return `unsupported Content-Encoding ${shown}; send the body uncompressed`;
}

/**
 * Reads a request's body of at most `limitBytes` into a buffer that grows by doubling. The buffer's size is charged to the client's memory,
 * as bytes that wait for the client. Returns undefined and releases the memory when the memory limit is reached; the rest of the body need
 * not be read.
 *
 * @throws {BodyTooLargeError} when the body exceeds `limitBytes`, after releasing the memory.
 * @throws {ClientGoneError} when the client disconnects before the end.
 */
export async function readHeldRequest(
  request: IncomingMessage,
  limitBytes: number,
  memory: ClientBytes,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const heldRequests = new HeldRequests(memory, 0);
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array<ArrayBuffer> | undefined>();
  const onData = (chunk: Buffer) => {
    if (heldRequests.length + chunk.length > limitBytes) return reject(new BodyTooLargeError(limitBytes));
    heldRequests.append(chunk);
    if (!heldRequests.count()) resolve(undefined);
  };
  const onEnd = () => resolve(heldRequests.take() as Buffer<ArrayBuffer>);
  const onClose = () => {
    // "close" is also emitted right after "end".
    if (!request.complete) reject(new ClientGoneError("the client disconnected before its request was complete"));
  };
  request.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose);
  try {
    return await promise;
  } finally {
    request.off("data", onData).off("end", onEnd).off("error", onClose).off("close", onClose);
    heldRequests.drop(heldRequests.length);
  }
}

/** Limits on draining a body that is not read, so that a client that is still sending can read the response. */
export const discardLimits = { bytesMax: 16_777_216, deadlineMs: 2_000 } as const satisfies DiscardLimits;

/** Reads and discards the rest of a request's body, as `discardBody` does. Returns whether it ended within the limits. */
export async function discardRequest(
  request: IncomingMessage,
  { bytesMax, deadlineMs }: DiscardLimits,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let size = 0;
  const onData = (chunk: Buffer) => {
    size += chunk.length;
    if (size > bytesMax) resolve(false);
  };
  const onEnd = () => resolve(true);
  const onClose = () => resolve(false);
  const late = setTimeout(onClose, deadlineMs);
  request.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose).resume();
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    request.off("data", onData).off("end", onEnd).off("error", onClose).off("close", onClose).pause();
  }
}
