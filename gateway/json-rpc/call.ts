import { nameTooLong, type RpcError, rpcErrors } from "../errors.ts";
import { isAt } from "./json-scanner.ts";

/** One call from a client. Its parts are slices of the received bytes, as binary strings (one character per byte). */
export type Call = Readonly<{
  /** JSON text of the id, byte for byte; undefined for a notification, which gets no response. */
  id: string | undefined;
  method: string;
  /** JSON text of the parameters; undefined if absent or null. May be any JSON value: whether it is an array is checked later. */
  params: string | undefined;
  /** The {@link buildCallKey} of method and unchanged parameters, if already known. */
  key?: string;
  /** The `hashKey` of `key`, if already known. */
  hash?: number;
  /** The call's text as received, if it is byte for byte what `formatCall` would produce from its parts. */
  wire?: string;
  /** Size of the call in whole KiB; absent if less than one. */
  kib?: number;
}>;

/** An invalid value instead of a call; the client gets an error with this id (JSON text). */
export type BadCall = Readonly<{
  id: string;
  error: RpcError;
  /** The limit that the value exceeded, if any. */
  limit?: "batch" | "message";
  kib?: number;
}>;

export type Message =
  | Readonly<{ kind: "single"; call: Call | BadCall }>
  | Readonly<{ kind: "batch"; calls: readonly (Call | BadCall)[] }>;

/** Whether the call is invalid, in which case the only response is an error. */
export function isBad(call: Call | BadCall): call is BadCall {
  return "error" in call;
}

/** Builds the key that identifies identical calls; `params` is the JSON text of an array. */
export function buildCallKey(method: string, params: string): string {
  return `${method} ${params}`;
}

/** Max characters hashed at each end of a key, so that hashing a long key costs no more than copying it. */
const hashedCharacters = 256;

/**
 * Bytes of the part of a key that is hashed. Keys are concatenations or slices of other strings, and reading a character from such a string
 * takes several times as long as reading it from a buffer.
 */
const hashInput = Buffer.allocUnsafeSlow(2 * hashedCharacters);
const words = new Int32Array(hashInput.buffer);

const space = 0x20;
/** Mask of the hash bits: few enough for a V8 small integer, which needs no separate allocation. */
const hashBits = 0x7fffffff;

/**
 * Hashes a key (FNV-1a, 31 bits), a binary string that is processed four characters at a time. Long keys that differ only in the middle
 * have the same hash, so callers must also compare the keys or tolerate collisions.
 */
export function hashKey(key: string): number {
  const { length } = key;
  let end = hashInput.write(key, 0, hashedCharacters, "latin1");
  if (length > hashedCharacters)
    end += hashInput.write(key.slice(Math.max(hashedCharacters, length - hashedCharacters)), end, "latin1");
  return computeHash(end, length);
}

/**
 * Hashes the `buildCallKey` of a method and parameters. Building the key instead would take a contiguous string, which would occupy memory
 * for as long as the call is in flight.
 */
export function hashParts(method: string, params: string): number {
  const paramsAt = method.length + 1;
  if (paramsAt >= hashedCharacters) return hashKey(buildCallKey(method, params));
  hashInput.write(method, 0, "latin1");
  hashInput[method.length] = space;
  let end = paramsAt + hashInput.write(params, paramsAt, hashedCharacters - paramsAt, "latin1");
  const length = paramsAt + params.length;
  if (length > hashedCharacters) {
    end += hashInput.write(
      params.slice(Math.max(hashedCharacters, length - hashedCharacters) - paramsAt),
      end,
      "latin1",
    );
  }
  return computeHash(end, length);
}

/** Hashes the key of a call whose parameters are in a message, without building strings for the key or the parameters. The name is short. */
export function hashCall(method: string, message: Buffer, paramsAt: number, paramsEnd: number): number {
  const { length: nameEnd } = method;
  for (let at = 0; at < nameEnd; at += 1) hashInput[at] = method.charCodeAt(at);
  hashInput[nameEnd] = space;
  const shift = paramsAt - nameEnd - 1;
  const length = paramsEnd - shift;
  let end = Math.min(length, hashedCharacters);
  message.copy(hashInput, nameEnd + 1, paramsAt, end + shift);
  if (length > hashedCharacters)
    end += message.copy(hashInput, end, Math.max(hashedCharacters, length - hashedCharacters) + shift, paramsEnd);
  return computeHash(end, length);
}

function computeHash(end: number, length: number): number {
  const wholeWords = end >>> 2;
  let hash = 0x811c9dc5 ^ length;
  for (let word = 0; word < wholeWords; word += 1) {
    hash = Math.imul(hash ^ (words[word] ?? 0), 0x01000193);
    hash ^= hash >>> 15;
  }
  for (let at = 4 * wholeWords; at < end; at += 1) hash = Math.imul(hash ^ (hashInput[at] ?? 0), 0x01000193);
  return hash & hashBits;
}

export type MessageLimits = Readonly<{
  batchItems: number;
  depth: number;
  /** Max bytes of one call, which is a whole message or one item of a batch. */
  callBytes: number;
  /** Max total number of values, keys and escaped characters in one call. */
  callValues: number;
}>;

/** Max length of an id or a method name, as JSON text. */
export const nameBytes = 1_024;

/** Builds a call from its method (undefined: too long) and the JSON text of its other members, or returns the error to respond with. */
export function buildCall(
  isVersion2: boolean,
  id: string | undefined,
  method: string | undefined,
  params: string | undefined,
): Call | BadCall {
  if (id?.startsWith("{") || id?.startsWith("[")) return { id: "null", error: rpcErrors.invalidRequest };
  if (id !== undefined && id.length > nameBytes) return { id: "null", error: nameTooLong("id", nameBytes) };
  if (method === undefined) return { id: id ?? "null", error: nameTooLong("method", nameBytes) };
  if (!isVersion2 || method === "") return { id: id ?? "null", error: rpcErrors.invalidRequest };
  return { id, method, params: params === "null" ? undefined : params };
}

/** Returns the value of a JSON string as a binary string; returns an empty one if the text is not a string. */
export function parseString(json: string): string {
  if (json.charCodeAt(0) !== 0x22) return "";
  if (!json.includes("\\")) return json.slice(1, -1);
  const text = Buffer.from(json, "latin1").toString("utf8");
  return Buffer.from(JSON.parse(text) as string, "utf8").toString("latin1");
}

/** Offsets of a call within its message's text. */
export type CallLocation = Readonly<{
  startsAt: number;
  endsAt: number;
  paramsAt: number;
  /** Number of parameters, and the offset of the last one. */
  paramsCount: number;
  lastParamAt: number;
}>;

/**
 * A call in the usual form: byte for byte what `formatCall` would produce from its parts, with a plain integer as id. Its texts
 * are sliced from the message lazily, which for most calls means never.
 */
export class TypicalCall implements Call {
  readonly id: string;
  readonly method: string;
  /** Hash of the call's key, by `hashKey`. */
  readonly hash: number;
  readonly kib: number;
  /** The whole message, and the offsets of the call within it. */
  readonly text: string;
  readonly startsAt: number;
  readonly endsAt: number;
  readonly #paramsAt: number;
  readonly #paramsCount: number;
  readonly #lastParamAt: number;

  constructor(
    text: string,
    id: string,
    method: string,
    hash: number,
    { startsAt, endsAt, paramsAt, paramsCount, lastParamAt }: CallLocation,
  ) {
    this.id = id;
    this.method = method;
    this.hash = hash;
    this.kib = (endsAt - startsAt) >>> 10;
    this.text = text;
    this.startsAt = startsAt;
    this.endsAt = endsAt;
    this.#paramsAt = paramsAt;
    this.#paramsCount = paramsCount;
    this.#lastParamAt = lastParamAt;
  }

  get params(): string {
    return this.text.slice(this.#paramsAt, this.endsAt - 1);
  }

  get paramsBytes(): number {
    return this.endsAt - 1 - this.#paramsAt;
  }

  get wire(): string {
    return this.text.slice(this.startsAt, this.endsAt);
  }

  /** Whether the parameter at `index` is the last one and equals this JSON text. */
  hasLastParam(index: number, json: string): boolean {
    const isLast = this.#paramsCount === index + 1 && this.endsAt - 2 - this.#lastParamAt === json.length;
    return isLast && this.text.startsWith(json, this.#lastParamAt);
  }
}

/** Max cached names; a power of two. */
const slots = 64;
/** Max length of a cached name. */
const cachedNameLengthMax = 64;
const quote = 0x22;

/** Characters of a method name that need no escaping in JSON. */
const nameCharacters = Uint8Array.from({ length: 256 }, (_, code) => Number(/\w/.test(String.fromCharCode(code))));

/** The most recent names, shared by all callers, because a name reveals nothing about its sender. */
const known: (string | undefined)[] = Array.from({ length: slots });

/**
 * Reads the name in the JSON string at `at` if it is short and contains no escape, as is the case for every known method; otherwise returns
 * undefined. A known name is the same string object each time; a slice would keep the whole message alive and need hashing on each map
 * lookup.
 */
export function readName(bytes: Buffer, at: number): string | undefined {
  if (bytes[at] !== quote) return undefined;
  const start = at + 1;
  let end = start;
  let hash = 0;
  while (nameCharacters[bytes[end] ?? 0] === 1 && end - start <= cachedNameLengthMax) {
    hash = (Math.imul(hash, 31) + (bytes[end] ?? 0)) | 0;
    end += 1;
  }
  if (bytes[end] !== quote || end === start || end - start > cachedNameLengthMax) return undefined;
  const slot = hash & (slots - 1);
  const cached = known[slot];
  if (cached !== undefined && cached.length === end - start && isAt(bytes, start, cached)) return cached;
  const name = bytes.toString("latin1", start, end);
  known[slot] = name;
  return name;
}
