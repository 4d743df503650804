import { headEnd, findBodyLocation, type KeepMessageHead, type MessageHead } from "../wire/message-head.ts";
import { formatHeaderLines } from "./response-headers.ts";
import { ChunkedRequest } from "./chunked-request.ts";
import type { FastResponseContext } from "./fast-response.ts";
import { fastHeadBytes, mayBeFast, readFastHead, type FastHead, type FastMethod } from "./fast-head.ts";
import type { Identify } from "../callers/identify.ts";
import type { RequestInfo } from "../callers/request-facts.ts";
import { largeBytes } from "../wire/received-bytes.ts";
import type { RequestContext } from "./listener-context.ts";

/** Facts about a request that are known before its body, its caller if identified by them, and the inputs for its response head. */
type FastOrigin = Readonly<{
  method: FastMethod;
  facts: RequestInfo;
  identity: ReturnType<Identify> | undefined;
  answer: FastResponseContext;
}>;

/** A complete request; `endsAt` is the offset after the request's last byte. */
export type FastRequest = FastOrigin & Readonly<{ kind: "whole"; body: Buffer; endsAt: number }>;

/** A request as parsed so far. `partial`: incomplete; `odd`: to be served by node:http; `wasteful`: its chunks are too small. */
export type FastReading =
  | FastRequest
  | Readonly<{ kind: "partial" }>
  | Readonly<{ kind: "odd" }>
  | Readonly<{ kind: "wasteful" }>;

/** Parses the requests of one connection, one after another. */
export type FastRequests = Readonly<{
  /** Parses the request at the start of these bytes. Until the request is complete and consumed, pass the same bytes as in the last call, or more. */
  next: (bytes: Buffer) => FastReading;
  /** Marks the complete request as consumed: the next bytes start another request. */
  consumed: () => void;
  /** Returns the facts about the current request, or about the last one if there is none; undefined before the first head. */
  facts: () => RequestInfo | undefined;
}>;

/** A request with a parsed head and an incomplete body. */
type Begun = FastOrigin & Readonly<{ body: Readonly<{ startsAt: number; endsAt: number }> | ChunkedRequest }>;

/** Number of consecutive unknown heads after which only one in every `keptOf` is cached. */
const unknownHeadsMax = 16;
const keptOf = 256;

const carriageReturn = 0x0d;
const newline = 0x0a;

const partial = { kind: "partial" } as const;
const odd = { kind: "odd" } as const;

/** Creates the request parser for a connection from this address; `awaited` is called when a client waits for 100 Continue. */
export function readFastRequests(
  remoteAddress: string,
  context: RequestContext,
  { keepHead, awaited }: Readonly<{ keepHead: KeepMessageHead; awaited: () => void }>,
): FastRequests {
  const bodyBytes = () => context.policy().settings.limits.bodyBytes;
  /** The last head and its parsed content: a client usually repeats the same head. */
  let known: (FastOrigin & Readonly<{ head: MessageHead | undefined }>) | undefined;
  let begun: Begun | undefined;
  let searchedTo = 0;
  /** Number of consecutive unknown heads. */
  let unknownHeads = 0;

  const begin = (bytes: Buffer): Begun | typeof partial | typeof odd => {
    const again = known?.head === undefined ? undefined : findBodyLocation(bytes, known.head);
    if (known !== undefined && again !== undefined && (known.method === "POST" || again.lengthBytes === 0)) {
      unknownHeads = 0;
      return withLength(known, again.startsAt, again.lengthBytes);
    }
    const headBytes = bytes.length > fastHeadBytes ? bytes.subarray(0, fastHeadBytes) : bytes;
    const end = headBytes.indexOf(headEnd, Math.max(0, searchedTo - headEnd.length));
    if (end === -1) {
      searchedTo = bytes.length;
      return bytes.length < fastHeadBytes && mayBeFast(bytes.toString("latin1", 0, 32)) ? partial : odd;
    }
    const startsAt = end + headEnd.length;
    const text = bytes.toString("latin1", 0, startsAt);
    const head = readFastHead(text, bytes);
    const origin = head === undefined ? undefined : buildOrigin(head, remoteAddress, context);
    if (head === undefined || origin === undefined) return odd;
    // Behind a proxy, every head may contain its own ids, which makes caching useless.
    unknownHeads += 1;
    const isKept = !head.isAwaited && !head.isLast && (unknownHeads <= unknownHeadsMax || unknownHeads % keptOf === 0);
    known = { ...origin, head: isKept ? keepHead(text) : undefined };
    if (head.framing.kind === "chunked") return { ...origin, body: new ChunkedRequest(startsAt, bodyBytes()) };
    const request = withLength(origin, startsAt, head.framing.bytes);
    if (head.isAwaited && !("kind" in request)) awaited();
    return request;
  };
  const withLength = (origin: FastOrigin, startsAt: number, lengthBytes: number): Begun | typeof odd => {
    if (lengthBytes > bodyBytes() || !mayCome(origin, lengthBytes, context)) return odd;
    const { method, facts, identity, answer } = origin;
    return { method, facts, identity, answer, body: { startsAt, endsAt: startsAt + lengthBytes } };
  };

  return {
    facts: () => known?.facts,
    consumed: () => (begun = undefined),
    next: (bytes) => {
      const request = begun ?? begin(bytes);
      if ("kind" in request) return request;
      const read = readBody(request.body, bytes);
      begun = read.kind === "partial" || read.kind === "whole" ? request : undefined;
      if (read.kind !== "partial") searchedTo = 0;
      if (read.kind !== "whole") return read;
      const { method, facts, identity, answer } = request;
      // Bytes that follow a last request are left to node:http.
      if (answer.isLast && bytes.length > read.endsAt) return odd;
      return { kind: "whole", method, facts, identity, answer, body: read.body, endsAt: read.endsAt };
    },
  };
}

/** Whether these bytes contain only line endings, which some clients send after a body (RFC 9112, section 2.2). */
export function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === newline || byte === carriageReturn);
}

function readBody(body: Begun["body"], bytes: Buffer) {
  if (body instanceof ChunkedRequest) return body.read(bytes);
  const { startsAt, endsAt } = body;
  return bytes.length < endsAt ? partial : ({ kind: "whole", body: bytes.subarray(startsAt, endsAt), endsAt } as const);
}

function buildOrigin(
  { method, version, authorization, forwardedFor, forwarded, traceContext, requestId, origin, host, isLast }: FastHead,
  remoteAddress: string,
  { isAllowedHost, corsHeaders, identify, identifiesByAddress }: RequestContext,
): FastOrigin | undefined {
  const cors = origin === undefined ? [] : corsHeaders(origin);
  if (cors === undefined || !isAllowedHost(host)) return undefined;
  const facts = { remoteAddress, authorization, forwardedFor, forwarded, traceContext, requestId };
  const extraHeaders = cors.length === 0 ? "" : formatHeaderLines(cors);
  const identity = identifiesByAddress && method === "POST" ? identify(facts) : undefined;
  return { method, facts, identity, answer: { extraHeaders, isLast, mayChunk: version === "1.1" } };
}

/** Whether a body of this length is accepted; if not, node:http rejects the request by its head. */
function mayCome(
  { facts, identity: known }: FastOrigin,
  lengthBytes: number,
  { identify, bodies }: RequestContext,
): boolean {
  const identity = lengthBytes > largeBytes ? (known ?? identify(facts)) : undefined;
  if (identity === undefined || identity instanceof Promise) return true;
  return identity.kind === "caller" && bodies.waitSeconds(identity.caller, lengthBytes) === undefined;
}
