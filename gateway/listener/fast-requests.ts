import type { Identify } from "../callers/identify.ts";
import type { RequestInfo } from "../callers/request-facts.ts";
import { badRequestResponse } from "#daemon/http/connections/rejected-connection.ts";
import { headEnd, findBodyLocation, type KeepMessageHead, type MessageHead } from "../wire/message-head.ts";
import { largeBytes } from "#daemon/memory/received-bytes.ts";
import { ChunkedRequest, type RequestRejection } from "./chunked-request.ts";
import { fastHeadBytes, mayBeFast, readFastHead, type FastHead, type FastMethod } from "./fast-head.ts";
import type { FastResponseContext } from "./fast-response.ts";
import type { RequestContext } from "./listener-context.ts";
import { formatHeaderLines } from "./response-headers.ts";

/** Facts about a request before its body, including the caller if the head identifies it, and the inputs for its response head. */
type FastOrigin = Readonly<{
  method: FastMethod;
  facts: RequestInfo;
  identity: ReturnType<Identify> | undefined;
  answer: FastResponseContext;
}>;

/** A complete request; `endsAt` is the offset after its last byte. */
export type FastRequest = Readonly<{ origin: FastOrigin; body: Buffer; endsAt: number }>;

/** A request with a parsed head. */
type Begun = Readonly<{ origin: FastOrigin; body: Readonly<{ startsAt: number; endsAt: number }> | ChunkedRequest }>;

/**
 * Number of consecutive unknown heads after which only one in every `keptOf` is cached: behind a proxy, every head may contain unique ids.
 */
const unknownHeadsMax = 16;
const keptOf = 256;

export class FastRequests {
  readonly #remoteAddress: string;
  readonly #context: RequestContext;
  readonly #keepHead: KeepMessageHead;
  /** The last head and its parsed content: a client usually repeats the same head. */
  #known: Readonly<{ origin: FastOrigin; head: MessageHead | undefined }> | undefined;
  #begun: Begun | undefined;
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
    if (origin.answer.isLast && bytes.length > read.endsAt) return "odd";
    return { origin, body: read.body, endsAt: read.endsAt };
  }

  /** Marks the complete request as consumed: the next bytes start another request. */
  consumed(): void {
    this.#begun = undefined;
  }

  #begin(bytes: Buffer): Begun | "partial" | "odd" {
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
    const isKept = !head.isLast && (this.#unknownHeads <= unknownHeadsMax || this.#unknownHeads % keptOf === 0);
    this.#known = { origin, head: isKept ? this.#keepHead(text) : undefined };
    return this.#locate(origin, startsAt, head.lengthBytes);
  }

  /** Large bodies are left to the node:http path, where the caller is checked before the body is read. */
  #locate(origin: FastOrigin, startsAt: number, lengthBytes: number | undefined): Begun | "odd" {
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
      answer: { extraHeaders: formatHeaderLines(cors), isLast, mayChunk: version === "1.1" },
    };
  }
}

function readBody(body: Begun["body"], bytes: Buffer) {
  if (body instanceof ChunkedRequest) return body.read(bytes);
  const { startsAt, endsAt } = body;
  return bytes.length < endsAt ? ("partial" as const) : { body: bytes.subarray(startsAt, endsAt), endsAt };
}
