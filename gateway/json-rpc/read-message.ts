import { isUtf8 } from "node:buffer";
import { batchTooLarge, callTooLarge, rpcErrors, type RpcError } from "../errors.ts";
import { CallReader, idDigits, idPrefix } from "./call-reader.ts";
import { buildCallKey, hashKey, isBad, type BadCall, type Call, type Message, type MessageLimits } from "./call.ts";
import { isAt, isDigit, skipSpace } from "./json-scanner.ts";

/** A message that is being parsed. A batch is parsed call by call, so that other work can run between two calls of a long batch. */
export type MessageReading = Readonly<{
  /** Parses the next call. Returns undefined while there are more, then the message. Must not be called after it has returned a message. */
  next: () => Message | undefined;
}>;

/**
 * Parses a JSON-RPC 2.0 message: one call or a batch. Never throws; an invalid call becomes the error that geth's `rpc` package returns for
 * it. If an envelope has duplicate keys, the last one counts, as in geth; the node never sees the earlier ones.
 */
export function readMessage(body: Buffer, limits: MessageLimits): Message {
  if (!isBatch(body)) return readSingle(body, limits);
  const reading = beginMessage(body, limits);
  for (;;) {
    const message = reading.next();
    if (message !== undefined) return message;
  }
}

/** Whether a message, if valid, is a batch. */
export function isBatch(body: Buffer): boolean {
  return body[skipSpace(body, 0)] === 0x5b;
}

/** Returns the id for an error that replaces the response to a message. A batch is not parsed just for this. */
export function readCallId(body: Buffer, limits: MessageLimits): string {
  const read = isBatch(body) ? undefined : readSingle(body, limits);
  return (read?.kind === "single" ? read.call.id : undefined) ?? "null";
}

/** Starts parsing a message in steps, none of which takes longer than one call of the max size. */
export function beginMessage(body: Buffer, limits: MessageLimits): MessageReading {
  if (!isBatch(body)) return { next: () => readSingle(body, limits) };
  if (!isUtf8(body)) return { next: () => buildRejection(rpcErrors.parse) };
  return new BatchReading(new CallReader(body, skipSpace(body, 0), limits), limits);
}

function readSingle(body: Buffer, limits: MessageLimits): Message {
  if (body.length > limits.callBytes) return buildRejection(callTooLarge(limits), "message");
  if (!isUtf8(body)) return buildRejection(rpcErrors.parse);
  const reader = new CallReader(body, skipSpace(body, 0), limits);
  const call = reader.read();
  if (reader.isTooLarge) return buildRejection(callTooLarge(limits), "message");
  return reader.isAtEnd() ? { kind: "single", call } : buildRejection(rpcErrors.parse);
}

/** Parses a batch one call at a time. A batch with any unparsable part is rejected as a whole. */
class BatchReading {
  readonly #reader: CallReader;
  readonly #limits: MessageLimits;
  readonly #calls: (Call | BadCall)[] = [];
  #hasBegun = false;

  /**
   * @param reader Positioned at the opening bracket of the batch.
   */
  constructor(reader: CallReader, limits: MessageLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  next(): Message | undefined {
    const reader = this.#reader;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      if (reader.openBatch() === "empty")
        return buildRejection(reader.isAtEnd() ? rpcErrors.emptyBatch : rpcErrors.parse);
    }
    if (this.#calls.length === this.#limits.batchItems)
      return buildRejection(batchTooLarge(this.#limits.batchItems), "batch");
    const call = reader.read();
    if (reader.isTooLarge) return buildRejection(callTooLarge(this.#limits), "message");
    this.#calls.push(call);
    switch (reader.nextOfBatch()) {
      case "more":
        return undefined;
      case "end":
        return reader.isAtEnd() ? { kind: "batch", calls: this.#calls } : buildRejection(rpcErrors.parse);
      case "broken":
        return buildRejection(rpcErrors.parse);
    }
  }
}

function buildRejection(error: RpcError, limit?: BadCall["limit"]): Message {
  return { kind: "single", call: { id: "null", error, ...(limit && { limit }) } };
}

/** Max cached messages; a power of two. */
const slots = 1_024;
/** Max length of a cached message. */
const knownBytes = 512;

const zero = 0x30;
const closeBrace = 0x7d;
/** Texts before and after the id in a call whose last member is the id. */
const idLast = '"id":';
const versionLast = ',"jsonrpc":"2.0"}';

/** A parsed call with the text of its message, in which only the digits of the id vary. */
type KnownMessage = Readonly<{
  /** Allocated separately: a slice of the shared pool of small buffers would keep the whole pool alive. */
  bytes: Uint8Array;
  idStart: number;
  idEnd: number;
  method: string;
  params: string | undefined;
  key: string;
  hash: number;
  /** Whether the whole text is the `wire` of the call. */
  isWire: boolean;
}>;

/** Parses messages, as {@link readMessage} does. */
export type MessageReader = (body: Buffer, limits: MessageLimits) => Message;

/**
 * Creates a reader that recognizes a call that differs from an earlier one only in its id, a plain integer. Clients repeat the same calls:
 * a known call is not scanned again, and its texts are the same string objects each time, so maps find them without comparing characters. A
 * message is cached on its second arrival; each slot contains the most recent one.
 */
export function createMessageReader(): MessageReader {
  const known: (KnownMessage | undefined)[] = Array.from({ length: slots });
  /** Hashes of earlier messages, so that a message that never repeats costs no memory. */
  const seen = new Uint32Array(slots);
  let limitsOfAll: MessageLimits | undefined;

  return (body, limits) => {
    const idStart = body.length > knownBytes ? -1 : findIdStart(body);
    if (idStart === -1) return readMessage(body, limits);
    const idEnd = findDigitsEnd(body, idStart);
    if (limits !== limitsOfAll) {
      known.fill(undefined);
      limitsOfAll = limits;
    }
    const hash = hashAround(body, idStart, idEnd);
    const slot = hash & (slots - 1);
    const before = known[slot];
    if (before !== undefined && isSame(before, body, idStart, idEnd)) {
      const { method, params, key, hash: keyHash, isWire } = before;
      const id = String(readNumber(body, idStart, idEnd));
      if (!isWire) return { kind: "single", call: { id, method, params, key, hash: keyHash } };
      return { kind: "single", call: { id, method, params, key, hash: keyHash, wire: body.toString("latin1") } };
    }
    const message = readMessage(body, limits);
    if (seen[slot] === hash) known[slot] = buildKnownMessage(message, body, { idStart, idEnd, limits });
    seen[slot] = hash;
    return message;
  };
}

/** Returns the offset of a plain integer id in one of its usual positions in a call, or -1 if there is none. */
function findIdStart(body: Buffer): number {
  if (isAt(body, 0, idPrefix)) return isId(body, idPrefix.length) ? idPrefix.length : -1;
  let end = body.length - 1;
  if (isAt(body, body.length - versionLast.length, versionLast)) end = body.length - versionLast.length;
  else if (body[end] !== closeBrace) return -1;
  let start = end;
  while (isDigit(body[start - 1] ?? 0)) start -= 1;
  return isAt(body, start - idLast.length, idLast) && isId(body, start) ? start : -1;
}

/** Whether the digits at this offset are a canonical integer: no leading zero, and exact as a number. */
function isId(body: Buffer, start: number): boolean {
  const length = findDigitsEnd(body, start) - start;
  return length === 1 || (length > 1 && length <= idDigits && body[start] !== zero);
}

function findDigitsEnd(body: Buffer, start: number): number {
  let end = start;
  while (isDigit(body[end] ?? 0)) end += 1;
  return end;
}

function readNumber(body: Buffer, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = number * 10 + ((body[at] ?? zero) - zero);
  return number;
}

/** Hashes everything except the id, in the manner of FNV-1a, four bytes at a time. */
function hashAround(body: Buffer, idStart: number, idEnd: number): number {
  return hashOn(hashOn(0x811c9dc5, body, 0, idStart), body, idEnd, body.length) >>> 0;
}

function hashOn(before: number, body: Buffer, start: number, end: number): number {
  let hash = before;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word =
      (body[at] ?? 0) | ((body[at + 1] ?? 0) << 8) | ((body[at + 2] ?? 0) << 16) | ((body[at + 3] ?? 0) << 24);
    hash = Math.imul(hash ^ word, 0x01000193);
    hash ^= hash >>> 15;
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ (body[at] ?? 0), 0x01000193);
  return hash;
}

function isSame({ bytes, idStart, idEnd }: KnownMessage, body: Buffer, start: number, end: number): boolean {
  if (start !== idStart || body.length - end !== bytes.length - idEnd) return false;
  for (let at = 0; at < start; at += 1) if (body[at] !== bytes[at]) return false;
  const shift = idEnd - end;
  for (let at = end; at < body.length; at += 1) if (body[at] !== bytes[at + shift]) return false;
  return true;
}

/**
 * Builds the message to cache; returns undefined if it is not a call, or if its id does not come from the digits at this offset. A second
 * "id" may follow the first, so the message is parsed again with a different id in this position: if the call does not get that id, the
 * effective id is elsewhere.
 */
function buildKnownMessage(
  message: Message,
  body: Buffer,
  { idStart, idEnd, limits }: Readonly<{ idStart: number; idEnd: number; limits: MessageLimits }>,
): KnownMessage | undefined {
  const call = getCall(message);
  if (call?.id !== body.toString("latin1", idStart, idEnd)) return undefined;
  const { id, method, params, wire } = call;
  const other = id === "1" ? "2" : "1";
  const otherBody = Buffer.concat([body.subarray(0, idStart), Buffer.from(other), body.subarray(idEnd)]);
  if (getCall(readMessage(otherBody, limits))?.id !== other) return undefined;
  const key = buildCallKey(method, params ?? "[]");
  const isWire = wire?.length === body.length;
  return { bytes: new Uint8Array(body), idStart, idEnd, method, params, key, hash: hashKey(key), isWire };
}

function getCall(message: Message): Call | undefined {
  return message.kind === "batch" || isBad(message.call) ? undefined : message.call;
}
