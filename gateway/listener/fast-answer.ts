import type { ResponseSource } from "../answers/answer-sink.ts";
import { TextsByLength } from "../wire/texts-by-length.ts";
import {
  formatHeaderLines,
  buildRejectedHeaders,
  buildStreamHeaders,
  buildWholeHeaders,
  type ResponseHeaders,
} from "./answer-head.ts";
import { formatBody, buildHeaders, formatStatus, type HttpError } from "./http-errors.ts";

/** Interim response, in node:http's form, for a client that waits for it before sending its body. */
export const goOn = "HTTP/1.1 100 Continue\r\n\r\n";

/** Properties that affect the head of every response. */
export type FastResponseContext = Readonly<{
  /** Lines of the leading headers, each with its line ending. */
  extraHeaders: string;
  /** Whether the connection closes after the response, even if the listener is not stopping. */
  isLast: boolean;
  /** Whether the client accepts chunked bodies. If not, a body of unknown length ends when the connection closes. */
  mayChunk: boolean;
}>;

/** Response heads for the fast path, byte for byte as node:http would write them for the same headers. */
export type FastResponseHeads = Readonly<{
  whole: (source: ResponseSource, lengthBytes: number, context: FastResponseContext) => string;
  refused: (retryAfterSeconds: number, lengthBytes: number, context: FastResponseContext) => string;
  stream: (source: ResponseSource, lengthBytes: number | undefined, context: FastResponseContext) => string;
  /** A complete rejection, including its text; its headers differ from those of a response to a call. */
  refusal: (error: HttpError, context: FastResponseContext) => string;
  /** The response to a health check, or to a browser's preflight request. */
  empty: (method: "GET" | "HEAD" | "OPTIONS", context: FastResponseContext) => string;
}>;

/**
 * Sources of the variable content of heads: the time in milliseconds since 1970, the headers appended to a response's own, and whether the
 * listener is about to stop, in which case every connection closes after its response.
 */
export type FastResponseHeadsDependencies = Readonly<{
  wallClock: () => number;
  ageHeaders: () => ResponseHeaders;
  isDraining: () => boolean;
}>;

/** Creates heads. `keepAliveMs` is node:http's keep-alive timeout, too. The head age and the date are updated once a second. */
export function createFastResponseHeads(
  keepAliveMs: number,
  { wallClock, ageHeaders, isDraining }: FastResponseHeadsDependencies,
): FastResponseHeads {
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n`;
  /** Heads by source, for the extra headers and tail of the last response: most responses have no extra headers, and within a second all tails are the same. */
  const wholes = new Map<ResponseSource, Readonly<{ extraHeaders: string; end: string; heads: TextsByLength }>>();
  /** Start of the second for which the tails were built. */
  let madeSince = Number.POSITIVE_INFINITY;
  let made = { last: "", kept: "" };
  let madeWithAge = made;
  let refused = { status: 0, text: "", start: "" };

  const renew = () => {
    const now = wallClock();
    // The wall clock may be set back.
    if (now >= madeSince && now < madeSince + 1_000) return;
    madeSince = Math.floor(now / 1_000) * 1_000;
    const age = formatHeaderLines(ageHeaders());
    const date = `Date: ${new Date(now).toUTCString()}\r\n`;
    made = { last: `${date}Connection: close\r\n`, kept: `${date}${keepAlive}` };
    madeWithAge = { last: `${age}${made.last}`, kept: `${age}${made.kept}` };
  };
  const plainTail = (isLast: boolean) => {
    renew();
    return isLast || isDraining() ? made.last : made.kept;
  };
  const tail = (isLast: boolean) => {
    renew();
    return isLast || isDraining() ? madeWithAge.last : madeWithAge.kept;
  };
  const findWholes = (source: ResponseSource, extraHeaders: string, end: string) => {
    const known = wholes.get(source);
    if (known?.extraHeaders === extraHeaders && known.end === end) return known.heads;
    const format = (lengthBytes: number) =>
      `HTTP/1.1 200 OK\r\n${extraHeaders}${formatHeaderLines(buildWholeHeaders(source, lengthBytes))}${end}\r\n`;
    const heads = new TextsByLength(format);
    wholes.set(source, { extraHeaders, end, heads });
    return heads;
  };
  /** Returns the head of a rejection up to the date. The last one is cached, because nearly all rejections are the same. */
  const refusalStart = (error: HttpError) => {
    if (refused.status !== error.status || refused.text !== error.text) {
      const start = `HTTP/1.1 ${formatStatus(error)}\r\n${formatHeaderLines(buildHeaders(error))}`;
      refused = { status: error.status, text: error.text, start };
    }
    return refused.start;
  };
  return {
    whole: (source, lengthBytes, { extraHeaders, isLast }) =>
      findWholes(source, extraHeaders, tail(isLast)).of(lengthBytes),
    refused: (retryAfterSeconds, lengthBytes, { extraHeaders, isLast }) => {
      const headers = formatHeaderLines(buildRejectedHeaders(retryAfterSeconds, lengthBytes));
      return `HTTP/1.1 429 Too Many Requests\r\n${extraHeaders}${headers}${tail(isLast)}\r\n`;
    },
    stream: (source, lengthBytes, { extraHeaders, isLast, mayChunk }) => {
      const isUnframed = lengthBytes === undefined && !mayChunk;
      const chunked = lengthBytes === undefined && mayChunk ? "Transfer-Encoding: chunked\r\n" : "";
      const headers = formatHeaderLines(buildStreamHeaders(source, lengthBytes));
      return `HTTP/1.1 200 OK\r\n${extraHeaders}${headers}${tail(isLast || isUnframed)}${chunked}\r\n`;
    },
    refusal: (error, { isLast }) => `${refusalStart(error)}${plainTail(isLast)}\r\n${formatBody(error)}`,
    empty: (method, { extraHeaders, isLast }) => {
      const status = method === "OPTIONS" ? "204 No Content" : "200 OK";
      return `HTTP/1.1 ${status}\r\n${extraHeaders}Content-Length: 0\r\n${plainTail(isLast)}\r\n`;
    },
  };
}
