import { readTraceContext, type TraceContext } from "../observe/trace-context.ts";
import { validRequestId } from "./request-facts.ts";

/** What the fast path needs of a request's head. */
export type FastHead = Readonly<{
  contentLengthBytes: number;
  authorization: string | undefined;
  forwardedFor: string | undefined;
  traceContext: TraceContext | undefined;
  requestId: string | undefined;
  host: string;
}>;

/** Headers that change nothing about how a request is read. Any other one, and any header given twice, is node:http's. */
const known: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "authorization",
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "host",
  "pragma",
  "sec-fetch-mode",
  "traceparent",
  "tracestate",
  "user-agent",
  "x-forwarded-for",
  "x-request-id",
]);

const requestLine = "POST / HTTP/1.1\r\n";
/** Longest head that the fast path reads. */
export const fastHeadBytes = 4_096;
const line = /^([A-Za-z-]+):[ ]?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/;
const contentType = /^application\/json(?:; ?charset=utf-8)?$/i;
const length = /^(?:0|[1-9]\d{0,8})$/;

/**
 * Reads the head of the one shape of request that JSON-RPC clients send: `POST / HTTP/1.1`, plain headers of a known list, one
 * Content-Length, no Transfer-Encoding, Expect or Upgrade, nothing folded (RFC 9112). Undefined for every other shape.
 * `head` ends with the empty line.
 */
export function readFastHead(head: string): FastHead | undefined {
  if (!head.startsWith(requestLine)) return undefined;
  const headers = new Map<string, string>();
  for (const text of head.slice(requestLine.length, -4).split("\r\n")) {
    const match = line.exec(text);
    const name = match?.[1]?.toLowerCase();
    if (match === null || name === undefined || !known.has(name) || headers.has(name)) return undefined;
    headers.set(name, match[2] ?? "");
  }
  const connection = headers.get("connection");
  if (connection !== undefined && connection.toLowerCase() !== "keep-alive") return undefined;
  const host = headers.get("host");
  const contentLength = headers.get("content-length") ?? "";
  if (host === undefined || !length.test(contentLength)) return undefined;
  if (!contentType.test(headers.get("content-type") ?? "")) return undefined;
  return {
    contentLengthBytes: Number(contentLength),
    authorization: headers.get("authorization"),
    forwardedFor: headers.get("x-forwarded-for"),
    traceContext: readTraceContext(headers.get("traceparent"), headers.get("tracestate")),
    requestId: validRequestId(headers.get("x-request-id")),
    host,
  };
}
