import { readTraceContext } from "#daemon/http/request-trace.ts";
import { toBytes } from "../wire/message-head.ts";
import { isJsonRpcType, parseRequestId, type RequestInfo } from "../callers/request-facts.ts";
import { readHeaderLines, type HeaderValues } from "./header-lines.ts";

const methods = ["POST", "GET", "HEAD", "OPTIONS"] as const;
export type FastMethod = (typeof methods)[number];

/** HTTP version of a request. A response to HTTP/1.0 must not be chunked, and an HTTP/1.0 connection stays open only if the client requests it. */
type HttpVersion = "1.0" | "1.1";

export type FastHead = Readonly<{
  method: FastMethod;
  version: HttpVersion;
  /** Undefined if the body is chunked. */
  lengthBytes: number | undefined;
  facts: Omit<RequestInfo, "remoteAddress">;
  origin: string | undefined;
  /** Absent in some HTTP/1.0 requests. */
  host: string | undefined;
  /** Whether the connection closes after the response (RFC 9112, section 9.3). */
  isLast: boolean;
}>;

type RequestLine = Readonly<{ method: FastMethod; version: HttpVersion }>;

const requestLines: ReadonlyMap<string, RequestLine> = new Map(
  methods.flatMap((method) =>
    (["1.0", "1.1"] as const).map((version) => [`${method} / HTTP/${version}\r\n`, { method, version }] as const),
  ),
);
/** Query of a request to `/`, which is ignored: some clients put a name or a key in it. */
const query = /(?<=^[A-Z]{3,7} \/)\?[\w.~!$&'()*+,;=:@%/?-]*(?= |$)/;

/** Connection options that leave an HTTP/1.1 connection open: all but one (`close`). An offered upgrade is ignored (RFC 9110, section 7.8). */
const keptConnection = /^[\w!#$%&'*+.^`|~-]+(?: ?, ?[\w!#$%&'*+.^`|~-]+)*$/;
const closed = /(?:^|[ ,])close(?:$|[ ,])/i;

/** Max head size that the fast path parses. */
export const fastHeadBytes = 16_384;

const length = /^(?:0|[1-9]\d{0,8})$/;

export function mayBeFast(bytes: string): boolean {
  const start = bytes.replace(query, "");
  for (const line of requestLines.keys()) if (line.startsWith(start) || start.startsWith(line)) return true;
  return false;
}

/**
 * Parses the head of a well-formed request to `/`, with any query: a POST of JSON with exactly one framing, or a GET, HEAD or OPTIONS
 * without a body. Irrelevant headers are skipped, whatever they contain. Returns undefined for every other head:
 * another path or type, a WebSocket upgrade, folded lines (RFC 9112). `head` ends with the empty line; `bytes` starts with the same head.
 */
export function readFastHead(head: string, bytes: Uint8Array = toBytes(head)): FastHead | undefined {
  const lineEnd = head.indexOf("\r\n") + 2;
  const line = requestLines.get(head.slice(0, lineEnd).replace(query, ""));
  const headers = line && readHeaderLines(head, bytes, lineEnd);
  if (line === undefined || headers === undefined) return undefined;
  const { method, version } = line;
  const { host } = headers;
  const isKept = readConnection(headers, version);
  const framing = readFraming(headers, version);
  if (framing === undefined || isKept === undefined || (host === undefined && version === "1.1")) return undefined;
  const { lengthBytes } = framing;
  if (method === "POST" ? !isJsonRpcType(headers["content-type"]) : lengthBytes !== 0) return undefined;
  if (headers.expect !== undefined) return undefined;
  const facts = {
    authorization: headers.authorization,
    forwardedFor: headers["x-forwarded-for"],
    forwarded: headers.forwarded,
    traceContext: readTraceContext(headers.traceparent, headers.tracestate),
    requestId: parseRequestId(headers["x-request-id"]),
  };
  return { method, version, lengthBytes, facts, origin: headers.origin, host, isLast: !isKept };
}

/** Returns the length of the body, if it is not chunked; undefined if node:http has to determine it (RFC 9112, section 6). */
function readFraming(
  { "transfer-encoding": encoding, "content-length": lengthText }: HeaderValues,
  version: HttpVersion,
): Pick<FastHead, "lengthBytes"> | undefined {
  if (encoding === undefined) {
    const bytes = lengthText ?? "0";
    return length.test(bytes) ? { lengthBytes: Number(bytes) } : undefined;
  }
  const isChunked = version === "1.1" && lengthText === undefined && encoding.toLowerCase() === "chunked";
  return isChunked ? { lengthBytes: undefined } : undefined;
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
