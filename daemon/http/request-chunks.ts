import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { formatRejection, rejectConnection } from "./connections/rejected-connection.ts";

/**
 * Number of chunks per body that may have any size, and min average size of further chunks: a client that writes a call token by token
 * sends a few thousand.
 */
const [uncheckedChunks, averageBytesMin] = [4_096, 64];

/** Whether a body's chunks are too small: node:http takes about a microsecond per chunk and a nanosecond per byte. */
export function hasTinyChunks(chunks: number, bodyBytes: number): boolean {
  return chunks > uncheckedChunks && bodyBytes < chunks * averageBytesMin;
}

/** The response to a body in tiny chunks. */
export const tinyChunksResponse = formatRejection(
  "400 Bad Request",
  `more than ${uncheckedChunks} chunks of fewer than ${averageBytesMin} bytes on average; send larger chunks`,
);

/**
 * Limits the number of chunks per request body, and gathers them before anything reads them. Each chunk that passes through a web stream
 * costs some 20 µs and 200 bytes, so a body sent in one-byte chunks or packets would take a thousand times the CPU and memory of a body sent
 * in one piece. A body in tiny chunks is rejected, and its connection no longer parsed. Call it after adding the server's other listeners.
 */
export function limitChunks(server: Server): void {
  server.prependListener("request", receive);
  // A listener for the event would replace the server's own handling, which emits "request".
  if (server.listenerCount("checkContinue") > 0) server.prependListener("checkContinue", receive);
  server.on("checkExpectation", (incoming: IncomingMessage, response: ServerResponse) => {
    receive(incoming, response);
    response.writeHead(417).end();
  });
}

function receive(incoming: IncomingMessage, response: ServerResponse): void {
  const gatheredChunks = new GatheredChunks(incoming.push.bind(incoming));
  let chunks = 0;
  let bytes = 0;
  let isRejected = false;
  // The parser calls this for each chunk, with null at the end; node:http uses it to pass bodies to their readers.
  incoming.push = (chunk: Buffer | null): boolean => {
    if (isRejected) return true;
    if (chunk === null) return gatheredChunks.end();
    chunks += 1;
    bytes += chunk.length;
    if (!hasTinyChunks(chunks, bytes)) return gatheredChunks.add(chunk);
    isRejected = true;
    // The parser can't be detached while it parses.
    process.nextTick(() => reject(incoming, response));
    return true;
  };
  // Chunks of an unread body count, too.
  Object.assign(incoming, { _dump: () => void incoming.resume() });
}

function reject({ socket }: IncomingMessage, response: ServerResponse): void {
  for (const event of ["data", "end"]) socket.removeAllListeners(event);
  const canRespond = response.socket === socket && !response.headersSent;
  rejectConnection(socket, canRespond ? tinyChunksResponse : "");
}

/** Bytes of a body forwarded at once; a chunk of at least this size is forwarded unchanged. */
const gatheredBytes = 16_384;

class GatheredChunks {
  readonly #push: (bytes: Buffer | null) => boolean;
  #buffer: Buffer | undefined;
  #length = 0;

  constructor(push: (bytes: Buffer | null) => boolean) {
    this.#push = push;
  }

  /** Returns whether the body's reader wants more. */
  add(chunk: Buffer): boolean {
    let wantsMore = true;
    if (this.#length + chunk.length > gatheredBytes) {
      wantsMore = this.#forward();
      if (chunk.length >= gatheredBytes) return this.#push(chunk);
    }
    const requiredBytes = this.#length + chunk.length;
    if (this.#buffer === undefined || requiredBytes > this.#buffer.length) {
      const largerBuffer = Buffer.allocUnsafe(Math.min(gatheredBytes, Math.max(requiredBytes, 2 * this.#length)));
      this.#buffer?.copy(largerBuffer, 0, 0, this.#length);
      this.#buffer = largerBuffer;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = requiredBytes;
    return wantsMore;
  }

  end(): boolean {
    this.#forward();
    return this.#push(null);
  }

  #forward(): boolean {
    const whole = this.#buffer?.subarray(0, this.#length);
    this.#buffer = undefined;
    this.#length = 0;
    return whole === undefined || this.#push(whole);
  }
}
