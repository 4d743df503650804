import { readTraceContext, type TraceContext } from "../observe/trace-context.ts";
import { isJsonRpcType, validRequestId } from "./request-facts.ts";

/** How the end of a request's body is told (RFC 9112, section 6). */
export type BodyFraming = Readonly<{ kind: "length"; bytes: number } | { kind: "chunked" }>;

/** Methods of the requests that the fast path answers. */
export type FastMethod = "POST" | "GET" | "HEAD" | "OPTIONS";

/** What the fast path needs of a request's head. */
export type FastHead = Readonly<{
  method: FastMethod;
  framing: BodyFraming;
  authorization: string | undefined;
  forwardedFor: string | undefined;
  forwarded: string | undefined;
  traceContext: TraceContext | undefined;
  requestId: string | undefined;
  origin: string | undefined;
  host: string;
}>;

/** Headers that change how a request is read, framed or answered. Given twice or in an unusual form they are node:http's. */
const meaningful: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "forwarded",
  "host",
  "origin",
  "traceparent",
  "tracestate",
  "transfer-encoding",
  "upgrade",
  "x-forwarded-for",
  "x-request-id",
]);

/** Headers of which node:http makes more than the fast path can. */
const othersOwn: ReadonlySet<string> = new Set(["expect", "proxy-connection"]);

/** Members of Connection that leave a connection of HTTP/1.1 open; an upgrade that is offered is ignored (RFC 9110, section 7.8). */
const keptConnection = /^(?:keep-alive|upgrade|http2-settings|te)(?: ?, ?(?:keep-alive|upgrade|http2-settings|te))*$/i;

const requestLines: ReadonlyMap<string, FastMethod> = new Map(
  (["POST", "GET", "HEAD", "OPTIONS"] as const).map((method) => [`${method} / HTTP/1.1\r\n`, method]),
);

/** Longest head that the fast path reads, and the most header lines in it. */
export const fastHeadBytes = 8_192;
const linesMax = 128;

/** A header's name (RFC 9110, section 5.6.2). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A value that is only passed over (RFC 9110, section 5.5). */
// oxlint-disable-next-line no-control-regex -- a tab is part of the rule
const field = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A value that is read: visible ASCII, with single parts apart by spaces. */
const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const length = /^(?:0|[1-9]\d{0,8})$/;

/** Whether what came of a request so far may be the start of one for the fast path. */
export function mayBeFast(start: string): boolean {
  for (const line of requestLines.keys()) if (line.startsWith(start) || start.startsWith(line)) return true;
  return false;
}

/**
 * Reads the head of a well-formed request of HTTP/1.1 to `/`: a POST of JSON with one framing, or a GET, HEAD or OPTIONS without a body.
 * Headers that mean nothing to the gateway are passed over, whatever they are. Undefined for every other head: HTTP/1.0, another
 * path or type, `Connection: close`, Expect, a WebSocket's upgrade, folded lines, both framings (RFC 9112). `head` ends with the empty line.
 */
export function readFastHead(head: string): FastHead | undefined {
  const firstEnd = head.indexOf("\r\n") + 2;
  const method = requestLines.get(head.slice(0, firstEnd));
  if (method === undefined) return undefined;
  const headers = readHeaders(head, firstEnd);
  const host = headers?.get("host");
  if (headers === undefined || host === undefined || !isPlainConnection(headers)) return undefined;
  const framing = readFraming(headers);
  if (framing === undefined) return undefined;
  if (method === "POST" ? !isJsonRpcType(headers.get("content-type")) : !isEmpty(framing)) return undefined;
  return {
    method,
    framing,
    authorization: headers.get("authorization"),
    forwardedFor: headers.get("x-forwarded-for"),
    forwarded: headers.get("forwarded"),
    traceContext: readTraceContext(headers.get("traceparent"), headers.get("tracestate")),
    requestId: validRequestId(headers.get("x-request-id")),
    origin: headers.get("origin"),
    host,
  };
}

/** The meaningful headers by name; undefined when a line is not well-formed or not for the fast path. */
function readHeaders(head: string, firstAt: number): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  let lines = 0;
  for (let at = firstAt; at < head.length - 2;) {
    const end = head.indexOf("\r\n", at);
    const colon = head.indexOf(":", at);
    lines += 1;
    if (colon === -1 || colon > end || lines > linesMax) return undefined;
    const name = head.slice(at, colon).toLowerCase();
    const value = head.slice(colon + 1, end);
    at = end + 2;
    if (meaningful.has(name)) {
      const read = value.startsWith(" ") ? value.slice(1) : value;
      if (headers.has(name) || !plain.test(read)) return undefined;
      headers.set(name, read);
    } else if (othersOwn.has(name) || !token.test(name) || !field.test(value)) return undefined;
  }
  return headers;
}

function isPlainConnection(headers: ReadonlyMap<string, string>): boolean {
  const connection = headers.get("connection");
  const isKept = connection === undefined || keptConnection.test(connection);
  return isKept && !/websocket/i.test(headers.get("upgrade") ?? "");
}

function readFraming(headers: ReadonlyMap<string, string>): BodyFraming | undefined {
  const encoding = headers.get("transfer-encoding");
  const lengthText = headers.get("content-length");
  if (encoding === undefined) {
    const bytes = lengthText ?? "0";
    return length.test(bytes) ? { kind: "length", bytes: Number(bytes) } : undefined;
  }
  return lengthText === undefined && encoding.toLowerCase() === "chunked" ? { kind: "chunked" } : undefined;
}

function isEmpty(framing: BodyFraming): boolean {
  return framing.kind === "length" && framing.bytes === 0;
}
