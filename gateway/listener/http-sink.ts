import type { ServerResponse } from "node:http";
import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import type { ClientBacklog } from "../wire/client-backlog.ts";
import { Corks } from "../wire/outbox.ts";
import { ScratchBuffers } from "../wire/scratch-buffers.ts";
import {
  buildRejectedHeaders,
  buildStreamHeaders,
  buildWholeHeaders,
  type ResponseHeaders,
} from "./response-headers.ts";

/** Headers before and after a response's own, and whether the connection closes after the response, which may become true before the response arrives. */
export type HeadersAround = Readonly<{ before: ResponseHeaders; after: ResponseHeaders; isLast: () => boolean }>;

/** Max length of a response that is written and ended in one call; a longer response may have to wait for its reader. */
const smallBytes = 8_192;

const corks = new Corks();

/** Usual max number of responses written in one tick: this many buffers of each size are retained. */
const writtenAtOnce = 16;

const scratch = new ScratchBuffers(writtenAtOnce);

/** Creates a sink that writes a response via node:http, through that response's backlog. */
export function createHttpSink(
  response: ServerResponse,
  backlog: ClientBacklog,
  { before, after, isLast }: HeadersAround,
): ResponseSink {
  const head = (status: number, headers: ResponseHeaders) => {
    if (response.socket !== null) corks.add(response.socket);
    if (isLast()) response.shouldKeepAlive = false;
    response.writeHead(status, [...before, ...headers, ...after].flat());
  };
  const end = () => backlog.afterAll(() => response.end());
  return {
    text: (json, source, retryAfterSeconds) => {
      if (retryAfterSeconds === undefined) head(200, buildWholeHeaders(source, json.length));
      else head(429, buildRejectedHeaders(retryAfterSeconds, json.length));
      if (json.length <= smallBytes) {
        response.end(json, "latin1");
        return;
      }
      backlog.write(Buffer.from(json, "latin1"));
      end();
    },
    bytes: (body, source) => {
      head(200, buildWholeHeaders(source, body.length));
      if (body.length <= smallBytes) {
        // A string is sent together with its head in a single write.
        response.end(body.toString("latin1"), "latin1");
        return;
      }
      const own = scratch.acquire(body.length);
      own.set(body);
      backlog.write(own);
      // The callback runs once all bytes are sent.
      backlog.afterAll(() => response.end(() => scratch.release(own)));
    },
    begin: (lengthBytes, source) => head(200, buildStreamHeaders(source, lengthBytes)),
    chunk: (bytes) => backlog.write(bytes),
    end,
    fail: () => response.destroy(),
  };
}

/**
 * Applies backpressure from the client: a slow client pauses the upstream, a disconnect cancels it. Memory counted for a response that was
 * written at once is released when the client has read it.
 */
export function applyBackpressure(response: ServerResponse, backlog: ClientBacklog, flow: ResponseFlow): void {
  if (response.writableFinished) return;
  response.on("drain", () => {
    if (backlog.drained()) flow.resume();
  });
  response.on("close", () => {
    backlog[Symbol.dispose]();
    if (!response.writableEnded) flow.cancel();
  });
}
