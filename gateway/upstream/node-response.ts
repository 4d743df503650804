import type { ResponseFailure } from "../errors.ts";
import {
  beginsWith,
  toBytes,
  headEnd,
  findBodyLocation,
  type KeepMessageHead,
  type MessageHead,
} from "../wire/message-head.ts";
import { formatErrorJsonResponse } from "../json-rpc/read-answer.ts";
import { readObject } from "../json-rpc/read-object.ts";
import type { ResponseSink } from "../responses/response-sink.ts";
import { createTextSink } from "../responses/text-sink.ts";
import { skipSpace } from "../json-rpc/json-scanner.ts";
import type { PolicySource } from "../policy.ts";
import { batchErrorId, type NodeCall } from "./node-call.ts";
import { ResponseBody, type BodyFraming } from "./response-body.ts";

type ResponseHead = BodyFraming & Readonly<{ status: number; keepAlive: boolean }>;

const headBytesMax = 16_384;

/** A response that has arrived: `deliver` passes what is left of it to its sink, before its bytes are overwritten. */
export type CompleteResponse = Readonly<{ keepAlive: boolean; deliver: () => void }>;

/** The responses on one connection, one at a time. `hold` is called when the current one's sink accepts no more for now. */
export class NodeResponse {
  readonly #readHead: ReturnType<typeof createResponseHeadReader>;
  readonly #policy: PolicySource;
  readonly #hold: () => void;
  #held: Buffer | undefined;
  #head: ResponseHead | undefined;
  /** Receiver of the current response, once its head was read: the call's sink, or one that searches for an error. */
  sink: ResponseSink | undefined;
  /** The current response's body, unless it arrived with its head. */
  body: ResponseBody | undefined;

  constructor(keepHead: KeepMessageHead, policy: PolicySource, hold: () => void) {
    this.#readHead = createResponseHeadReader(keepHead);
    this.#policy = policy;
    this.#hold = hold;
  }

  /** Whether the end of the connection is the end of the body. */
  get endsWithConnection(): boolean {
    return this.#head !== undefined && this.#head.lengthBytes === undefined && !this.#head.chunked;
  }

  /** Processes one read, whose bytes are overwritten later unless `isKept`. */
  read(call: NodeCall, bytes: Buffer, isKept: boolean): "more" | ResponseFailure | CompleteResponse {
    if (this.#head !== undefined && this.body !== undefined)
      return this.#readBody(this.#head, this.body, bytes, isKept);
    const all = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes]);
    const read = this.#readHead(all);
    if (read === "unfinished") {
      this.#held = Buffer.from(all);
      return all.length > headBytesMax ? "badAnswer" : "more";
    }
    this.#held = undefined;
    if (read === "bad") return "badAnswer";
    const { head, bodyAt } = read;
    const body = all.subarray(bodyAt);
    if (head.status < 200) return body.length > 0 ? this.read(call, body, isKept) : "more";
    return this.#begin(call, head, body);
  }

  /** Prepares for the next response. */
  reset(): void {
    this.#head = undefined;
    this.sink = undefined;
    this.body = undefined;
  }

  #begin(call: NodeCall, head: ResponseHead, body: Buffer): "more" | ResponseFailure | CompleteResponse {
    const { responseBytes } = this.#policy().settings.limits;
    const failure = findFailure(head, responseBytes);
    const sink = failure === undefined ? call.sink : readErrorResponse(call, head, failure);
    if (sink === undefined) return failure ?? "badAnswer";
    this.#head = head;
    this.sink = sink;
    const { id } = call;
    if (head.lengthBytes === body.length) {
      const isAnswer = failure !== undefined || startsAsJsonRpc(body);
      const deliver = () => (isAnswer ? deliverBody(body, { id, sink }) : sink.fail("badAnswer"));
      return { keepAlive: head.keepAlive, deliver };
    }
    const deliver = (whole: Buffer) => deliverBody(whole, { id, sink });
    const limitBytes = failure === undefined ? responseBytes : errorBodyBytesMax;
    const mayBegin = failure === undefined ? startsAsJsonRpc : undefined;
    this.body = new ResponseBody(head, limitBytes, { sink, deliver, mayBegin, hold: this.#hold });
    return this.#readBody(head, this.body, body, false);
  }

  #readBody({ keepAlive }: ResponseHead, body: ResponseBody, bytes: Buffer, isKept: boolean) {
    const state = body.read(bytes, isKept);
    return state === "done" ? { keepAlive, deliver: () => body.end() } : state;
  }
}

const lowerC = 0x63;
const lowerT = 0x74;
const lowerCaseBit = 0x20;

/** Outcome of reading a head: a complete head and the offset of the body that follows; an incomplete head; or a head that is not HTTP/1.1. */
type ReadHead = Readonly<{ head: ResponseHead; bodyAt: number }> | "unfinished" | "bad";

/** Creates a parser that remembers the last head with a length and the last chunked one: within a second, heads differ only in length. */
export function createResponseHeadReader(keep: KeepMessageHead): (bytes: Buffer) => ReadHead {
  let known: Readonly<{ bytes: MessageHead; head: ResponseHead }> | undefined;
  let knownInChunks: Readonly<{ bytes: Uint8Array; head: ResponseHead }> | undefined;
  return (bytes) => {
    const location = known === undefined ? undefined : findBodyLocation(bytes, known.bytes);
    if (known !== undefined && location !== undefined) {
      const { status, chunked, keepAlive } = known.head;
      return { head: { status, lengthBytes: location.lengthBytes, chunked, keepAlive }, bodyAt: location.startsAt };
    }
    if (knownInChunks !== undefined && beginsWith(bytes, knownInChunks.bytes)) {
      return { head: knownInChunks.head, bodyAt: knownInChunks.bytes.length };
    }
    const end = bytes.indexOf(headEnd);
    if (end === -1) return "unfinished";
    const bodyAt = end + headEnd.length;
    const text = bytes.toString("latin1", 0, bodyAt);
    const head = readResponseHead(text);
    if (head === undefined) return "bad";
    const kept = head.lengthBytes === undefined ? undefined : keep(text);
    if (head.chunked) knownInChunks = { bytes: toBytes(text), head };
    else known = kept === undefined ? undefined : { bytes: kept, head };
    return { head, bodyAt };
  };
}

/** Parses a response's head; undefined if it is not HTTP/1.1 or has two different lengths (RFC 9112, section 6.3). */
function readResponseHead(head: string): ResponseHead | undefined {
  const status = head.slice(9, 12);
  const minor = head.slice(7, 9);
  if (!head.startsWith("HTTP/1.") || (minor !== "1 " && minor !== "0 ") || !/^\d{3}$/.test(status)) return undefined;
  let length: string | undefined;
  let chunked = false;
  let keepAlive = minor === "1 ";
  for (let at = head.indexOf("\r\n"); at !== -1;) {
    const start = at + 2;
    at = head.indexOf("\r\n", start);
    // Few headers start like the three relevant ones.
    const first = head.charCodeAt(start) | lowerCaseBit;
    if (first !== lowerC && first !== lowerT) continue;
    const line = head.slice(start, at).toLowerCase();
    if (line.startsWith("content-length:")) {
      const digits = line.slice("content-length:".length).trim();
      if (!/^\d{1,15}$/.test(digits) || (length !== undefined && length !== digits)) return undefined;
      length = digits;
    } else if (line.startsWith("transfer-encoding:"))
      chunked = line.slice("transfer-encoding:".length).trim() === "chunked";
    else if (line.startsWith("connection:") && line.includes("close")) keepAlive = false;
  }
  const lengthBytes = length === undefined || chunked ? undefined : Number(length);
  return { status: Number(status), lengthBytes, chunked, keepAlive };
}

export function findFailure({ status, lengthBytes }: ResponseHead, responseBytes: number): ResponseFailure | undefined {
  if (status === 502 || status === 503) return "unavailable";
  if (status === 429) return "limited";
  if (status < 200 || status > 203) return "badAnswer";
  return (lengthBytes ?? 0) > responseBytes ? "tooLarge" : undefined;
}

const openBrace = 0x7b;
const openBracket = 0x5b;

/** Returns whether a body starts like JSON-RPC. A proxy's error page does not, and would make a client's whole batch unreadable. */
function startsAsJsonRpc(body: Uint8Array): boolean {
  const first = body[0] === openBrace ? openBrace : body[skipSpace(body, 0)];
  return first === openBrace || first === openBracket;
}

/**
 * Max size of a body with a status other than 200 that is searched for a JSON-RPC error; the longest such error is revert data.
 */
const errorBodyBytesMax = 1_048_576;

/**
 * Creates the sink for the body of a response with a status other than 200. Some nodes return JSON-RPC errors with 4xx or 5xx: such an
 * error is forwarded unchanged to the caller, under the call's own id. Anything else becomes the failure determined by the status. Returns
 * undefined if the body can't contain an error, or can contain only one that is too large.
 */
function readErrorResponse(
  { id, sink }: Pick<NodeCall, "id" | "sink">,
  { status, lengthBytes = 0 }: ResponseHead,
  failure: ResponseFailure,
): ResponseSink | undefined {
  if (status < 400 || lengthBytes > errorBodyBytesMax) return undefined;
  return createTextSink(errorBodyBytesMax, undefined, (answer) => {
    const error = typeof answer === "string" ? undefined : readRpcError(answer.text);
    // A batch (only batches have this id) would be resent call by call, although the node already received too many calls.
    if (error === undefined || (failure === "limited" && id === batchErrorId)) sink.fail(failure);
    else sink.text(formatErrorJsonResponse(id, error), "node");
  });
}

/** Max size of a response that is searched for a missing id: no node adds much to the error of a call that it couldn't parse. */
const unparsedErrorBytesMax = 1_024;

/** Delivers a whole body. The error of a node that couldn't parse the call has no id (JSON-RPC 2.0, section 5) and gets the call's. */
function deliverBody(body: Buffer, { id, sink }: Pick<NodeCall, "id" | "sink">): void {
  const mayLackId = body.length <= unparsedErrorBytesMax && id !== "null" && body.includes('"id":null');
  const error = mayLackId ? readRpcError(body.toString("latin1")) : undefined;
  if (error === undefined) sink.bytes(body, "node");
  else sink.text(formatErrorJsonResponse(id, error), "node");
}

/** Reads the error in a JSON-RPC response, as JSON text; returns undefined if the text, a binary string, is not such a response. */
function readRpcError(text: string): string | undefined {
  const error = readObject(text)?.get("error");
  const members = error === undefined ? undefined : readObject(error);
  const isError = /^-?\d+$/.test(members?.get("code") ?? "") && members?.get("message")?.startsWith('"') === true;
  return isError ? error : undefined;
}
