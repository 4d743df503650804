import { readTraceContext, type TraceContext } from "#daemon/http/request-trace.ts";
import { toBytes } from "../wire/message-head.ts";
import { readHeaderLines, type HeaderValues } from "./header-lines.ts";
import { isJsonRpcType, parseRequestId } from "../callers/request-facts.ts";

/** Framing of a request's body, which determines where the body ends (RFC 9112, section 6). */
export type BodyFraming = Readonly<{ kind: "length"; bytes: number } | { kind: "chunked" }>;

/** Request methods that the fast path serves. */
export type FastMethod = "POST" | "GET" | "HEAD" | "OPTIONS";

/** The parts of a request's head that the fast path uses. */
export type FastHead = Readonly<{
  method: FastMethod;
  version: HttpVersion;
  framing: BodyFraming;
  authorization: string | undefined;
  forwardedFor: string | undefined;
  forwarded: string | undefined;
  traceContext: TraceContext | undefined;
  requestId: string | undefined;
  origin: string | undefined;
  /** Host from an absolute target or, failing that, from the header, which may be absent in HTTP/1.0. */
  host: string | undefined;
  /** Whether the client waits for 100 Continue before sending the body (RFC 9110, section 10.1.1). */
  isAwaited: boolean;
  /** Whether the connection closes after the response (RFC 9112, section 9.3). */
  isLast: boolean;
}>;

/** HTTP version of a request. A response to HTTP/1.0 must not be chunked, and an HTTP/1.0 connection stays open only if the client requests it. */
export type HttpVersion = "1.0" | "1.1";

type RequestLine = Readonly<{ method: FastMethod; version: HttpVersion; targetHost: string | undefined }>;

/** Connection options that leave an HTTP/1.1 connection open: all but one (`close`). An offered upgrade is ignored (RFC 9110, section 7.8). */
const keptConnection = /^[\w!#$%&'*+.^`|~-]+(?: ?, ?[\w!#$%&'*+.^`|~-]+)*$/;
const closed = /(?:^|[ ,])close(?:$|[ ,])/i;

const methods = ["POST", "GET", "HEAD", "OPTIONS"] as const;
const versions = ["1.0", "1.1"] as const;
const requestLines: ReadonlyMap<string, RequestLine> = new Map(
  methods.flatMap((method) =>
    versions.map((version) => [`${method} / HTTP/${version}\r\n`, { method, version, targetHost: undefined }] as const),
  ),
);
/** The same request line with a query, which is ignored (some clients put a name or a key in it), or with an absolute target. */
const query = String.raw`\?[\w.~!$&'()*+,;=:@%/?-]*`;
const otherLine = new RegExp(
  String.raw`^(?<method>POST|GET|HEAD|OPTIONS) (?:(?<host>https?://[\w.-]+(?::\d{1,5})?)(?:/(?:${query})?)?|/${query}) HTTP/(?<version>1\.[01])\r\n$`,
);
const otherStart = new RegExp(
  String.raw`^(?:POST|GET|HEAD|OPTIONS) (?:/${query}(?: |$)|h(?:t(?:t(?:ps?(?::/?)?)?)?)?$|https?://[\w.:-]*(?:/(?:${query})?)?(?: |$))`,
);

/** Max head size that the fast path parses. */
export const fastHeadBytes = 16_384;

const length = /^(?:0|[1-9]\d{0,8})$/;

/** Whether these first bytes could start a request that the fast path serves. */
export function mayBeFast(start: string): boolean {
  for (const line of requestLines.keys()) if (line.startsWith(start) || start.startsWith(line)) return true;
  return otherStart.test(start);
}

/**
 * Parses the head of a well-formed request to `/`, with any query: a POST of JSON with exactly one framing, or a GET, HEAD or OPTIONS
 * without a body. Headers that mean nothing to the gateway are skipped, whatever they contain. Returns undefined for every other head:
 * another path or type, a WebSocket upgrade, folded lines, both framings (RFC 9112). `head` ends with the empty line; `bytes` starts with
 * the same head.
 */
export function readFastHead(head: string, bytes: Uint8Array = toBytes(head)): FastHead | undefined {
  const firstEnd = head.indexOf("\r\n") + 2;
  const line = readRequestLine(head.slice(0, firstEnd));
  const headers = line === undefined ? undefined : readHeaderLines(head, bytes, firstEnd);
  if (line === undefined || headers === undefined) return undefined;
  const { method, version, targetHost } = line;
  const { expect, host } = headers;
  const isKept = readConnection(headers, version);
  const framing = readFraming(headers, version);
  if (framing === undefined || isKept === undefined || (host === undefined && version === "1.1")) return undefined;
  if (expect !== undefined && !(version === "1.1" && isKept && isContinued(expect, framing))) return undefined;
  // A request without a body gets no 100 Continue, and node:http closes some such connections.
  if (method === "POST" ? !isJsonRpcType(headers["content-type"]) : !isEmpty(framing) || expect !== undefined)
    return undefined;
  return {
    method,
    version,
    framing,
    authorization: headers.authorization,
    forwardedFor: headers["x-forwarded-for"],
    forwarded: headers.forwarded,
    traceContext: readTraceContext(headers.traceparent, headers.tracestate),
    requestId: parseRequestId(headers["x-request-id"]),
    origin: headers.origin,
    host: targetHost ?? host,
    isAwaited: expect !== undefined,
    isLast: !isKept,
  };
}

function readRequestLine(line: string): RequestLine | undefined {
  const known = requestLines.get(line);
  if (known !== undefined) return known;
  const read = otherLine.exec(line)?.groups;
  const method = methods.find((name) => name === read?.["method"]);
  if (read === undefined || method === undefined) return undefined;
  const version = read["version"] === "1.0" ? "1.0" : "1.1";
  if (read["host"] === undefined) return { method, version, targetHost: undefined };
  const targetHost = URL.parse(read["host"])?.host;
  return targetHost === undefined ? undefined : { method, version, targetHost };
}

/** Returns whether a connection stays open after the response; undefined if node:http has to decide. */
function readConnection(
  { connection, upgrade, "proxy-connection": proxyConnection }: HeaderValues,
  version: HttpVersion,
): boolean | undefined {
  if (proxyConnection !== undefined) return undefined;
  if (upgrade !== undefined && (version === "1.0" || /websocket/i.test(upgrade))) return undefined;
  if (connection === undefined) return version === "1.1";
  const only = connection.toLowerCase();
  if (only === "keep-alive" || only === "close") return only === "keep-alive";
  const isKept = version === "1.1" && keptConnection.test(connection) && !closed.test(connection);
  return isKept ? true : undefined;
}

function readFraming(
  { "transfer-encoding": encoding, "content-length": lengthText }: HeaderValues,
  version: HttpVersion,
): BodyFraming | undefined {
  if (encoding === undefined) {
    const bytes = lengthText ?? "0";
    return length.test(bytes) ? { kind: "length", bytes: Number(bytes) } : undefined;
  }
  // Chunked framing was introduced in HTTP/1.1.
  const isChunked = version === "1.1" && lengthText === undefined && encoding.toLowerCase() === "chunked";
  return isChunked ? { kind: "chunked" } : undefined;
}

/**
 * Whether the fast path sends the client 100 Continue. It does not for a chunked body: such a request may still end up at node:http, which
 * would send it again.
 */
function isContinued(expect: string, framing: BodyFraming): boolean {
  return expect.toLowerCase() === "100-continue" && framing.kind === "length";
}

function isEmpty(framing: BodyFraming): boolean {
  return framing.kind === "length" && framing.bytes === 0;
}
