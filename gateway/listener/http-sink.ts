import type { ServerResponse } from "node:http";
import type { AnswerFlow, AnswerSink } from "../answers/answer-sink.ts";
import type { ClientBacklog } from "../wire/client-backlog.ts";
import { createCorks } from "../wire/outbox.ts";
import { ScratchBuffers } from "../wire/scratch-buffers.ts";
import { buildRefusedHeaders, buildStreamHeaders, buildWholeHeaders, type AnswerHeaders } from "./answer-head.ts";

/** Headers before and after an answer's own, and whether the connection ends with it, which may become so while it is awaited. */
export type HeadersAround = Readonly<{ before: AnswerHeaders; after: AnswerHeaders; isLast: () => boolean }>;

/** Longest answer that is written with its end; a longer one may have to wait for its reader. */
const smallBytes = 8_192;

const corks = createCorks();

/** Answers that are written in one turn, as a rule: memory for so many of each size is kept. */
const writtenAtOnce = 16;

const scratch = new ScratchBuffers(writtenAtOnce);

/** Writes an answer to a node:http response, through the backlog of that response. */
export function createHttpSink(
  response: ServerResponse,
  backlog: ClientBacklog,
  { before, after, isLast }: HeadersAround,
): AnswerSink {
  const head = (status: number, headers: AnswerHeaders) => {
    if (response.socket !== null) corks.add(response.socket);
    if (isLast()) response.shouldKeepAlive = false;
    response.writeHead(status, [...before, ...headers, ...after].flat());
  };
  const end = () => backlog.afterAll(() => response.end());
  return {
    text: (json, source, retryAfterSeconds) => {
      if (retryAfterSeconds === undefined) head(200, buildWholeHeaders(source, json.length));
      else head(429, buildRefusedHeaders(retryAfterSeconds, json.length));
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
        // One string is one write with its head.
        response.end(body.toString("latin1"), "latin1");
        return;
      }
      const own = scratch.acquire(body.length);
      own.set(body);
      backlog.write(own);
      // The callback comes when all of it has gone out.
      backlog.afterAll(() => response.end(() => scratch.release(own)));
    },
    begin: (lengthBytes, source) => head(200, buildStreamHeaders(source, lengthBytes)),
    chunk: (bytes) => backlog.write(bytes),
    end,
    fail: () => response.destroy(),
  };
}

/**
 * Lets the response's reader control the flow: a slow one pauses it, one that goes ends it. Memory that is held for an answer that was
 * written at once is released when its reader has taken it.
 */
export function steer(response: ServerResponse, backlog: ClientBacklog, flow: AnswerFlow): void {
  if (response.writableFinished) return;
  response.on("drain", () => {
    if (backlog.drained()) flow.resume();
  });
  response.on("close", () => {
    backlog[Symbol.dispose]();
    if (!response.writableEnded) flow.cancel();
  });
}
