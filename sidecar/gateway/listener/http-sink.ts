import type { ServerResponse } from "node:http";
import type { AnswerFlow, AnswerSink } from "../dispatch/answer-sink.ts";
import { refusedHeaders, streamHeaders, wholeHeaders, type AnswerHeaders } from "./answer-head.ts";

/** Headers before and after an answer's own. */
export type HeadersAround = Readonly<{ before: AnswerHeaders; after: AnswerHeaders }>;

/** Writes an answer to a node:http response. */
export function httpSink(response: ServerResponse, { before, after }: HeadersAround): AnswerSink {
  const head = (status: number, headers: AnswerHeaders) => {
    response.writeHead(status, [...before, ...headers, ...after].flat());
  };
  return {
    text: (json, source) => {
      head(200, wholeHeaders(source, json.length));
      response.end(json, "latin1");
    },
    bytes: (body, source) => {
      head(200, wholeHeaders(source, body.length));
      response.end(Buffer.from(body));
    },
    refused: (json, retryAfterSeconds) => {
      head(429, refusedHeaders(retryAfterSeconds, json.length));
      response.end(json, "latin1");
    },
    begin: (lengthBytes, source) => head(200, streamHeaders(source, lengthBytes)),
    chunk: (bytes) => response.write(bytes),
    end: () => response.end(),
    broken: () => response.destroy(),
  };
}

/** Lets the response's reader steer the flow: a slow one pauses it, one that goes ends it. */
export function steer(response: ServerResponse, flow: AnswerFlow): void {
  if (response.writableEnded) return;
  response.on("drain", () => flow.resume());
  response.on("close", () => {
    if (!response.writableEnded) flow.cancel();
  });
}
