import type { ResponseSource, ResponseSink } from "../responses/response-sink.ts";
import { TextsByLength, type KeepMessageHead } from "../wire/message-head.ts";
import {
  formatHeaderLines,
  buildRejectedHeaders,
  buildStreamHeaders,
  buildWholeHeaders,
  type ResponseHeaders,
} from "./response-headers.ts";
import { formatBody, buildHeaders, formatStatus, type HttpError } from "./http-errors.ts";
import type { Socket } from "node:net";
import type { ClientBacklog } from "./client-backlog.ts";
import { outboxBytes, type Outbox } from "../wire/outbox.ts";
import type { RequestContext } from "./listener-context.ts";

export type FastResponseContext = Readonly<{
  extraHeaders: string;
  /** Whether the connection closes after the response, even if the listener is not stopping. */
  isLast: boolean;
  /** Whether the client accepts chunked bodies. If not, a body of unknown length ends when the connection closes. */
  mayChunk: boolean;
}>;

/** Response heads for the fast path, byte for byte as node:http would write them for the same headers. */
export type FastResponseHeads = Readonly<{
  whole: (source: ResponseSource, lengthBytes: number, context: FastResponseContext) => string;
  rejected: (retryAfterSeconds: number, lengthBytes: number, context: FastResponseContext) => string;
  stream: (source: ResponseSource, lengthBytes: number | undefined, context: FastResponseContext) => string;
  /** A complete rejection, including its text; its headers differ from those of a response to a call. */
  rejection: (error: HttpError, context: FastResponseContext) => string;
  /** The response to a health check, or to a browser's preflight request. */
  empty: (method: "GET" | "HEAD" | "OPTIONS", context: FastResponseContext) => string;
}>;

/**
 * The variable parts of heads: the date, the headers after a response's own, and whether the listener is stopping.
 */
export type FastResponseHeadsDependencies = Readonly<{
  wallClock: () => number;
  ageHeaders: () => ResponseHeaders;
  drain: RequestContext["drain"];
}>;

/**
 * Creates heads. `keepAliveMs` is also node:http's keep-alive timeout. The date and the block's age are updated once a second.
 */
export function createFastResponseHeads(
  keepAliveMs: number,
  { wallClock, ageHeaders, drain }: FastResponseHeadsDependencies,
): FastResponseHeads {
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n`;
  /**
   * Response heads by source, valid only for the extra and the trailing headers of the last response. Most responses have no extra headers,
   * and the trailing headers stay the same within a second.
   */
  const fullHeads = new Map<ResponseSource, Readonly<{ extraHeaders: string; end: string; heads: TextsByLength }>>();
  /** Start of the second for which the trailing headers were built; those for calls contain the age of the node's latest block. */
  let madeSince = Number.POSITIVE_INFINITY;
  let plain = { last: "", kept: "" };
  let aged = plain;

  const renew = () => {
    const now = wallClock();
    // The wall clock may be set back.
    if (now >= madeSince && now < madeSince + 1_000) return;
    madeSince = Math.floor(now / 1_000) * 1_000;
    const age = formatHeaderLines(ageHeaders());
    const date = `Date: ${new Date(now).toUTCString()}\r\n`;
    plain = { last: `${date}Connection: close\r\n`, kept: `${date}${keepAlive}` };
    aged = { last: `${age}${plain.last}`, kept: `${age}${plain.kept}` };
  };
  const isEnding = (isLast: boolean) => isLast || drain.hasBegun;
  const plainTail = (isLast: boolean) => {
    renew();
    return isEnding(isLast) ? plain.last : plain.kept;
  };
  const tail = (isLast: boolean) => {
    renew();
    return isEnding(isLast) ? aged.last : aged.kept;
  };
  const findFullHeads = (source: ResponseSource, extraHeaders: string, end: string) => {
    const known = fullHeads.get(source);
    if (known?.extraHeaders === extraHeaders && known.end === end) return known.heads;
    const format = (lengthBytes: number) =>
      `HTTP/1.1 200 OK\r\n${extraHeaders}${formatHeaderLines(buildWholeHeaders(source, lengthBytes))}${end}\r\n`;
    const heads = new TextsByLength(format);
    fullHeads.set(source, { extraHeaders, end, heads });
    return heads;
  };
  return {
    whole: (source, lengthBytes, { extraHeaders, isLast }) =>
      findFullHeads(source, extraHeaders, tail(isLast)).of(lengthBytes),
    rejected: (retryAfterSeconds, lengthBytes, { extraHeaders, isLast }) => {
      const headers = formatHeaderLines(buildRejectedHeaders(retryAfterSeconds, lengthBytes));
      return `HTTP/1.1 429 Too Many Requests\r\n${extraHeaders}${headers}${tail(isLast)}\r\n`;
    },
    stream: (source, lengthBytes, { extraHeaders, isLast, mayChunk }) => {
      const isUnframed = lengthBytes === undefined && !mayChunk;
      const chunkedHeader = lengthBytes === undefined && mayChunk ? "Transfer-Encoding: chunked\r\n" : "";
      const headers = formatHeaderLines(buildStreamHeaders(source, lengthBytes));
      return `HTTP/1.1 200 OK\r\n${extraHeaders}${headers}${tail(isLast || isUnframed)}${chunkedHeader}\r\n`;
    },
    rejection: (error, { isLast }) =>
      `HTTP/1.1 ${formatStatus(error)}\r\n${formatHeaderLines(buildHeaders(error))}${plainTail(isLast)}\r\n${formatBody(error)}`,
    empty: (method, { extraHeaders, isLast }) => {
      const status = method === "OPTIONS" ? "204 No Content" : "200 OK";
      return `HTTP/1.1 ${status}\r\n${extraHeaders}Content-Length: 0\r\n${plainTail(isLast)}\r\n`;
    },
  };
}

const chunkEnd = Buffer.from("\r\n");
const lastChunk = Buffer.from("0\r\n\r\n");

/** State shared by all fast connections of a listener. */
export type FastPath = Readonly<{
  context: RequestContext;
  heads: FastResponseHeads;
  outbox: Outbox;
  keepHead: KeepMessageHead;
  /** Hands a connection over to node:http for good, with the bytes that were received but not answered yet. */
  hotRestart: (socket: Socket, unread: Buffer) => void;
}>;

/** The request that a connection is answering. */
type CurrentRequest = Readonly<{
  context: () => FastResponseContext;
  /** Called when a response is completely written; `isLast` means that the connection closes after it. */
  finish: (isLast: boolean) => void;
}>;

/** Writes one connection's responses, one after another, to the raw socket. */
export function createFastSink(
  socket: Socket,
  { heads, outbox }: FastPath,
  backlog: ClientBacklog,
  { context, finish }: CurrentRequest,
): ResponseSink {
  let isChunked = false;
  let isLast = false;
  return {
    text: (json, source, retryAfterSeconds) => {
      const given = context();
      const head =
        retryAfterSeconds === undefined
          ? heads.whole(source, json.length, given)
          : heads.rejected(retryAfterSeconds, json.length, given);
      if (head.length + json.length <= outboxBytes) outbox.write(socket, head + json);
      else {
        outbox.flush();
        backlog.write(Buffer.from(head + json, "latin1"));
      }
      finish(given.isLast);
    },
    bytes: (body, source) => {
      const given = context();
      const head = heads.whole(source, body.length, given);
      if (head.length + body.length <= outboxBytes) outbox.writeBytes(socket, head, body);
      else {
        outbox.flush();
        const whole = joinResponse(outbox.scratch.acquire(head.length + body.length), head, body);
        backlog.write(whole);
        // Bytes that the client has not accepted yet stay in this buffer.
        if (!backlog.isWaiting && socket.writableLength === 0) outbox.scratch.release(whole);
      }
      finish(given.isLast);
    },
    begin: (lengthBytes, source) => {
      const given = context();
      isChunked = lengthBytes === undefined && given.mayChunk;
      isLast = given.isLast || (lengthBytes === undefined && !given.mayChunk);
      outbox.flush();
      socket.write(heads.stream(source, lengthBytes, given), "latin1");
    },
    chunk: (bytes) => {
      if (!isChunked) return backlog.write(bytes);
      socket.cork();
      backlog.write(Buffer.from(`${bytes.length.toString(16)}\r\n`, "latin1"));
      backlog.write(bytes);
      const hasRoom = backlog.write(chunkEnd);
      socket.uncork();
      return hasRoom;
    },
    end: () => {
      if (isChunked) backlog.write(lastChunk);
      finish(isLast);
    },
    fail: () => socket.destroy(),
  };
}

function joinResponse(all: Buffer, head: string, body: Buffer): Buffer {
  all.write(head, 0, "latin1");
  all.set(body, head.length);
  return all;
}

/** Time without progress after which a closing connection is destroyed. */
const closingMs = 1_000;

/** Closes both sides after the bytes written so far and an optional last response, because a client need not respond to a half-close. */
export function endConnection(socket: Socket, response: string | undefined): void {
  // With nothing left to send, the connection is closed at once: a half-close first would be an extra system call for the same result.
  if (response === undefined && socket.writableLength === 0) {
    socket.destroy();
    return;
  }
  socket.setTimeout(closingMs);
  if (response === undefined) socket.destroySoon();
  else socket.write(response, "latin1", () => socket.destroy());
}
