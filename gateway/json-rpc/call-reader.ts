import {
  type BadCall,
  type Call,
  type MessageLimits,
  buildCall,
  hashCall,
  nameBytes,
  parseString,
  TypicalCall,
  readName,
} from "./call.ts";
import {
  createUnlimitedBudget,
  isAt,
  isDigit,
  notJson,
  skipKey,
  skipSpace,
  skipString,
  skipValue,
  type ScanBudget,
} from "./json-scanner.ts";
import { rpcErrors } from "../errors.ts";

/** Max members in an envelope; JSON-RPC defines four. */
const envelopeMembers = 64;
/** Max length, including quotes, of a member's name or of the version if all characters are escaped. */
const escapedBytes = 64;
/** Max length of a message that is sliced from one string; in a longer message, only retained parts become strings. */
const fullTextBytesMax = 65_536;
const bytesOfKiB = 1_024;
const zero = 0x30;

/** Texts around the id, method and params of a call, as most clients write them and as the node receives them. */
export const idPrefix = '{"jsonrpc":"2.0","id":';
const methodPrefix = ',"method":';
const paramsPrefix = ',"params":';
/** Number of a typical call's keys, plus the values before its params. */
const typicalValues = 7;
/** Max length of a call that is first read as a typical one: if it is not, it is scanned twice. */
const typicalBytes = 4_096;
/** Max digits of a numeric id without loss of precision. */
export const idDigits = 15;

const invalid: BadCall = { id: "null", error: rpcErrors.invalidRequest };

/** Parses the calls of a message one by one. */
export class CallReader {
  readonly #bytes: Buffer;
  /** The message as a binary string, with the same offsets. */
  readonly #text: string | undefined;
  readonly #limits: MessageLimits;
  #depth: number;
  /** Shared by all calls, because a batch has many. */
  readonly #budget: ScanBudget = { values: 0, endsAt: 0 };
  /** Current offset, or {@link notJson}. */
  at: number;

  constructor(bytes: Buffer, at: number, limits: MessageLimits) {
    this.#bytes = bytes;
    this.#text = bytes.length <= fullTextBytesMax ? bytes.toString("latin1") : undefined;
    this.#limits = limits;
    this.#depth = limits.depth;
    this.at = at;
  }

  /** Whether the last call exceeded the parser's limits. */
  get isTooLarge(): boolean {
    return this.#budget.values < 0;
  }

  /** Whether only white space follows. */
  isAtEnd(): boolean {
    return this.at !== notJson && skipSpace(this.#bytes, this.at) === this.#bytes.length;
  }

  /** Enters a batch. */
  openBatch(): "empty" | "calls" {
    this.at = skipSpace(this.#bytes, this.at + 1);
    this.#depth -= 1;
    if (this.#bytes[this.at] !== 0x5d) return "calls";
    this.at += 1;
    return "empty";
  }

  /** Moves from the end of a call in a batch to the next call, or past the end of the batch. */
  nextOfBatch(): "more" | "end" | "broken" {
    if (this.at === notJson) return "broken";
    const end = skipSpace(this.#bytes, this.at);
    const code = this.#bytes[end];
    if (code !== 0x2c && code !== 0x5d) return "broken";
    this.at = code === 0x2c ? skipSpace(this.#bytes, end + 1) : end + 1;
    return code === 0x2c ? "more" : "end";
  }

  /** Parses the value at the current offset; then sets `at` to the offset after it, or to {@link notJson}. */
  read(): Call | BadCall {
    const startsAt = this.at;
    const typicalCall = this.#readUsual();
    if (typicalCall !== undefined) return typicalCall;
    this.#spend(this.#limits.callValues, this.#limits.callBytes);
    const call = this.#readEnvelope();
    const kib = this.at === notJson ? 0 : Math.floor((this.at - startsAt) / bytesOfKiB);
    return kib === 0 ? call : { ...call, kib };
  }

  /**
   * Parses a short call in the usual form. For any other call, or an invalid one, returns undefined and leaves the offset unchanged. The
   * call's text is retained: rebuilding it would take several times its size in memory.
   */
  #readUsual(): TypicalCall | undefined {
    const bytes = this.#bytes;
    const text = this.#text;
    const idAt = this.at + idPrefix.length;
    if (text === undefined || !isAt(bytes, this.at, idPrefix)) return undefined;
    let idEnd = idAt;
    while (isDigit(bytes[idEnd] ?? 0)) idEnd += 1;
    const digits = idEnd - idAt;
    if (digits === 0 || digits > idDigits || (digits > 1 && bytes[idAt] === zero)) return undefined;
    if (!isAt(bytes, idEnd, methodPrefix)) return undefined;
    const nameAt = idEnd + methodPrefix.length;
    const method = readName(bytes, nameAt);
    if (method === undefined) return undefined;
    const nameEnd = nameAt + method.length + 2;
    const paramsAt = nameEnd + paramsPrefix.length;
    if (!isAt(bytes, nameEnd, paramsPrefix) || bytes[paramsAt] !== 0x5b) return undefined;
    const { callValues, callBytes } = this.#limits;
    const budget = this.#spend(callValues - typicalValues, Math.min(callBytes, typicalBytes));
    const params = this.#readParams(paramsAt, budget);
    if (params === undefined || bytes[params.end] !== 0x7d) return undefined;
    const { end: paramsEnd, count: paramsCount, lastAt: lastParamAt } = params;
    const location = { startsAt: this.at, endsAt: paramsEnd + 1, paramsAt, paramsCount, lastParamAt };
    this.at = location.endsAt;
    const hash = hashCall(method, bytes, paramsAt, paramsEnd);
    return new TypicalCall(text, text.slice(idAt, idEnd), method, hash, location);
  }

  #spend(values: number, bytes: number): ScanBudget {
    const budget = this.#budget;
    budget.values = values;
    budget.endsAt = this.at + bytes;
    return budget;
  }

  /** Parses an array of parameters, with the same result as `skipValue`. */
  #readParams(at: number, budget: ScanBudget): Readonly<{ end: number; count: number; lastAt: number }> | undefined {
    const bytes = this.#bytes;
    budget.values -= 1;
    if (this.#depth < 2 || budget.values < 0) return undefined;
    let lastAt = skipSpace(bytes, at + 1);
    if (bytes[lastAt] === 0x5d) return { end: lastAt + 1, count: 0, lastAt };
    for (let count = 1; ; count += 1) {
      const end = skipValue(bytes, lastAt, this.#depth - 2, budget);
      if (end === notJson) return undefined;
      const next = skipSpace(bytes, end);
      if (bytes[next] === 0x5d) return { end: next + 1, count, lastAt };
      if (bytes[next] !== 0x2c) return undefined;
      lastAt = skipSpace(bytes, next + 1);
    }
  }

  #readEnvelope(): Call | BadCall {
    const bytes = this.#bytes;
    const budget = this.#budget;
    if (bytes[this.at] !== 0x7b) {
      this.at = skipValue(bytes, this.at, this.#depth, budget);
      return invalid;
    }
    let isVersion2 = false;
    let id: string | undefined;
    let method: string | undefined = "";
    let params: string | undefined;
    let members = 0;
    let at = skipSpace(bytes, this.at + 1);
    let more = bytes[at] !== 0x7d;
    while (more) {
      members += 1;
      const value = skipKey(bytes, at, budget);
      const end = value === notJson ? notJson : skipValue(bytes, value, this.#depth - 1, budget);
      if (end === notJson) {
        this.at = notJson;
        return { id: "null", error: rpcErrors.parse };
      }
      switch (members > envelopeMembers ? undefined : this.#memberAt(at)) {
        case "jsonrpc":
          isVersion2 = end - value <= escapedBytes && this.#readString(value, end) === "2.0";
          break;
        case "id":
          id = this.#slice(value, Math.min(end, value + nameBytes + 1));
          break;
        case "method":
          if (end - value <= nameBytes) method = readName(bytes, value) ?? this.#readString(value, end);
          else method = bytes[value] === 0x22 ? undefined : "";
          break;
        case "params":
          params = this.#slice(value, end);
          break;
        case undefined:
      }
      const next = skipSpace(bytes, end);
      more = bytes[next] === 0x2c;
      at = more ? skipSpace(bytes, next + 1) : next;
      if (!more && bytes[next] !== 0x7d) at = bytes.length;
    }
    this.at = bytes[at] === 0x7d ? at + 1 : notJson;
    return members > envelopeMembers ? invalid : buildCall(isVersion2, id, method, params);
  }

  /** Returns the value of the string at an offset; an empty one if the value there is not a string. */
  #readString(start: number, end: number): string {
    return isAt(this.#bytes, start, '"2.0"') ? "2.0" : parseString(this.#slice(start, end));
  }

  #slice(start: number, end: number): string {
    return this.#text === undefined ? this.#bytes.toString("latin1", start, end) : this.#text.slice(start, end);
  }

  /** Returns the envelope member whose key is at `at`, which the scanner has verified to be a string. */
  #memberAt(at: number): Member | undefined {
    const bytes = this.#bytes;
    if (isAt(bytes, at, '"jsonrpc"')) return "jsonrpc";
    if (isAt(bytes, at, '"id"')) return "id";
    if (isAt(bytes, at, '"method"')) return "method";
    if (isAt(bytes, at, '"params"')) return "params";
    const end = skipString(bytes, at, createUnlimitedBudget());
    if (end - at > escapedBytes) return undefined;
    const name = parseString(this.#slice(at, end));
    return members.find((member) => member === name);
  }
}

const members = ["jsonrpc", "id", "method", "params"] as const;
type Member = (typeof members)[number];
