import type { Identify } from "../callers/identify.ts";
import { type RequestInfo, isJsonRpcType, parseRequestId } from "../callers/request-facts.ts";
import { badRequestResponse } from "#daemon/http/connections/rejected-connection.ts";
import { headEnd, findBodyLocation, type KeepMessageHead, type MessageHead, toBytes } from "../wire/message-head.ts";
import { isUnencoded } from "#daemon/http/held-body.ts";
import { largeBytes } from "#daemon/memory/received-bytes.ts";
import { ChunkedRequest, type RequestRejection } from "./chunked-request.ts";
import type { FastResponseContext } from "./fast-response.ts";
import type { RequestContext } from "./listener-context.ts";
import { formatHeaderLines } from "./response-headers.ts";
import { readTraceContext } from "#daemon/http/request-trace.ts";
import { readHeaderLines, type HeaderValues } from "./header-lines.ts";

/** Facts about a request before its body, including the caller if the head identifies it, and the inputs for its response head. */
type FastOrigin = Readonly<{
  method: FastMethod;
  facts: RequestInfo;
  identity: ReturnType<Identify> | undefined;
  response: FastResponseContext;
}>;

/** A complete request; `endsAt` is the offset after its last byte. */
export type FastRequest = Readonly<{ origin: FastOrigin; body: Buffer; endsAt: number }>;

/** A request with a parsed head. */
type StartedRequest = Readonly<{
  origin: FastOrigin;
  body: Readonly<{ startsAt: number; endsAt: number }> | ChunkedRequest;
}>;

/**
 * After this many unknown heads in a row, only one in `cachedOneIn` is cached: behind a proxy, every head may contain a unique id.
 */
const unknownHeadsMax = 16;
const cachedOneIn = 256;

export class FastRequests {
  readonly #remoteAddress: string;
  readonly #context: RequestContext;
  readonly #keepHead: KeepMessageHead;
  /** The last head and its parsed content: a client usually repeats the same head. */
  #known: Readonly<{ origin: FastOrigin; head: MessageHead | undefined }> | undefined;
  #begun: StartedRequest | undefined;
  #searchedTo = 0;
  #unknownHeads = 0;

  constructor(remoteAddress: string, context: RequestContext, keepHead: KeepMessageHead) {
    this.#remoteAddress = remoteAddress;
    this.#context = context;
    this.#keepHead = keepHead;
  }

  /** The facts about the current request, or about the last one if there is none; undefined before the first head. */
  get facts(): RequestInfo | undefined {
    return this.#known?.origin.facts;
  }

  /** Parses the request at the start of these bytes. Until it is consumed, each call passes the same bytes, or more. */
  next(bytes: Buffer): FastRequest | RequestRejection | "partial" | "odd" {
    const begun = this.#begun ?? this.#begin(bytes);
    if (typeof begun === "string") return begun;
    this.#begun = begun;
    const { origin, body } = begun;
    const read = readBody(body, bytes);
    // node:http would parse all received bytes of a large body at once.
    if (read === "odd" && bytes.length > largeBytes) return { rejection: badRequestResponse };
    if (typeof read === "string" || "rejection" in read) return read;
    this.#searchedTo = 0;
    // Bytes that follow a last request are left to node:http.
    if (origin.response.isLast && bytes.length > read.endsAt) return "odd";
    return { origin, body: read.body, endsAt: read.endsAt };
  }

  /** Marks the complete request as consumed: the next bytes start another request. */
  consumed(): void {
    this.#begun = undefined;
  }

  #begin(bytes: Buffer): StartedRequest | "partial" | "odd" {
    const known = this.#known;
    const again = known?.head === undefined ? undefined : findBodyLocation(bytes, known.head);
    if (known !== undefined && again !== undefined && (known.origin.method === "POST" || again.lengthBytes === 0)) {
      this.#unknownHeads = 0;
      return this.#locate(known.origin, again.startsAt, again.lengthBytes);
    }
    const headBytes = bytes.length > fastHeadBytes ? bytes.subarray(0, fastHeadBytes) : bytes;
    const end = headBytes.indexOf(headEnd, Math.max(0, this.#searchedTo - headEnd.length));
    if (end === -1) {
      this.#searchedTo = bytes.length;
      return bytes.length < fastHeadBytes && mayBeFast(bytes.toString("latin1", 0, 32)) ? "partial" : "odd";
    }
    const startsAt = end + headEnd.length;
    const text = bytes.toString("latin1", 0, startsAt);
    const head = readFastHead(text, bytes);
    const origin = head && this.#buildOrigin(head);
    if (head === undefined || origin === undefined) return "odd";
    this.#unknownHeads += 1;
    const isKept = !head.isLast && (this.#unknownHeads <= unknownHeadsMax || this.#unknownHeads % cachedOneIn === 0);
    this.#known = { origin, head: isKept ? this.#keepHead(text) : undefined };
    return this.#locate(origin, startsAt, head.lengthBytes);
  }

  /** Large bodies are left to the node:http path, where the caller is checked before the body is read. */
  #locate(origin: FastOrigin, startsAt: number, lengthBytes: number | undefined): StartedRequest | "odd" {
    const { bodyBytes } = this.#context.policy().settings.limits;
    if (lengthBytes === undefined) return { origin, body: new ChunkedRequest(startsAt, bodyBytes) };
    if (lengthBytes > largeBytes || lengthBytes > bodyBytes) return "odd";
    return { origin, body: { startsAt, endsAt: startsAt + lengthBytes } };
  }

  #buildOrigin({ method, version, facts: given, origin, host, isLast }: FastHead): FastOrigin | undefined {
    const { corsHeaders, isAllowedHost, identify, identifiesByAddress } = this.#context;
    const cors = origin === undefined ? [] : corsHeaders(origin);
    if (cors === undefined || !isAllowedHost(host)) return undefined;
    const facts = { remoteAddress: this.#remoteAddress, ...given };
    const identity = identifiesByAddress && method === "POST" ? identify(facts) : undefined;
    return {
      method,
      facts,
      identity,
      response: { extraHeaders: formatHeaderLines(cors), isLast, mayChunk: version === "1.1" },
    };
  }
}

function readBody(body: StartedRequest["body"], bytes: Buffer) {
  if (body instanceof ChunkedRequest) return body.read(bytes);
  const { startsAt, endsAt } = body;
  return bytes.length < endsAt ? ("partial" as const) : { body: bytes.subarray(startsAt, endsAt), endsAt };
}

const methods = ["POST", "GET", "HEAD", "OPTIONS"] as const;
type FastMethod = (typeof methods)[number];

/** HTTP version of a request. A response to HTTP/1.0 must not be chunked, and an HTTP/1.0 connection stays open only if the client requests it. */
type HttpVersion = "1.0" | "1.1";

type FastHead = Readonly<{
  method: FastMethod;
  version: HttpVersion;
  /** Length of the body; undefined if it is chunked. */
  lengthBytes: number | undefined;
  facts: Omit<RequestInfo, "remoteAddress">;
  origin: string | undefined;
  /** Host header; absent in some HTTP/1.0 requests. */
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
const fastHeadBytes = 16_384;

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
  if (headers.expect !== undefined || !isUnencoded(headers["content-encoding"])) return undefined;
  const facts = {
    authorization: headers.authorization,
    forwardedFor: headers["x-forwarded-for"],
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
