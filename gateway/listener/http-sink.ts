import type { ServerResponse } from "node:http";
import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import type { ClientBacklog } from "../wire/client-backlog.ts";
import { Corks } from "../wire/outbox.ts";
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
  const sendText = (text: string) => {
    // A string is sent together with its head in a single write.
    if (text.length <= smallBytes) {
      response.end(text, "latin1");
      return;
    }
    backlog.write(Buffer.from(text, "latin1"));
    end();
  };
  return {
    text: (json, source, retryAfterSeconds) => {
      if (retryAfterSeconds === undefined) head(200, buildWholeHeaders(source, json.length));
      else head(429, buildRejectedHeaders(retryAfterSeconds, json.length));
      sendText(json);
    },
    bytes: (body, source) => {
      head(200, buildWholeHeaders(source, body.length));
      sendText(body.toString("latin1"));
    },
    begin: (lengthBytes, source) => head(200, buildStreamHeaders(source, lengthBytes)),
    chunk: (bytes) => backlog.write(bytes),
    end,
    fail: () => response.destroy(),
  };
}

/** Applies backpressure: a slow client pauses the upstream, a disconnect cancels it, and what was read is no longer counted. */
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
