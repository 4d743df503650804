import { notJson, skipSpace, createUnlimitedBudget, isAt, skipValue } from "../json-rpc/json-scanner.ts";
import { ValueScan } from "../json-rpc/value-scan.ts";
import { readObject } from "../json-rpc/read-object.ts";

/** Max nesting depth accepted in the node's responses. */
const answerDepth = 512;

const openBracket = 0x5b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
const comma = 0x2c;

const stepBytes = 16_384;

/** Response of a call that failed only because of this batch; sent alone, the call may succeed. */
export const failedInBatch = "";

/** The node's responses, indexed like their calls, as slices of one binary string; undefined where the node sent no response. */
type BatchResponses = readonly (string | undefined)[];

/**
 * Parses the node's response to a batch of calls with these ids (JSON text), in steps. An element without an id (`null`, because the node
 * could not read it) is skipped. An element with an id that was not requested, or with a duplicate id, invalidates the whole response:
 * `answers` is undefined. So does a text that is not a JSON array, unless it was `cut`; it is then parsed up to its last complete element.
 */
export class BatchResponseReading {
  readonly #bytes: Buffer;
  readonly #text: string;
  readonly #ids: readonly string[];
  readonly #isCut: boolean;
  readonly #answers: (string | undefined)[];
  readonly #scan: ValueScan;
  /** Start of the current element, and whether its scan has begun. */
  #at: number;
  #isScanning = false;
  /** Index of the call whose response comes next, if the node responds in call order, as most do; and the index of each id for other nodes. */
  #next = 0;
  #indexes: ReadonlyMap<string, number> | undefined;
  #isFinished = false;
  #isBroken = false;

  constructor(bytes: Buffer, ids: readonly string[], { cut }: Readonly<{ cut: boolean }>) {
    this.#bytes = bytes;
    this.#text = bytes.toString("latin1");
    this.#ids = ids;
    this.#scan = new ValueScan(bytes, answerDepth);
    this.#isCut = cut;
    this.#answers = Array.from({ length: ids.length });
    const start = skipSpace(bytes, 0);
    this.#at = skipSpace(bytes, start + 1);
    if (bytes[start] !== openBracket) this.#break();
    else this.#isFinished = bytes[this.#at] === closeBracket;
  }

  /** The parsed responses, once `step` has returned 0; undefined if none of them can be trusted. */
  get answers(): BatchResponses | undefined {
    return this.#isBroken ? undefined : this.#answers;
  }

  /** Parses one step. Returns the number of bytes, or 0 at the end. */
  step(): number {
    if (this.#isFinished) return 0;
    const scan = this.#scan;
    if (!this.#isScanning) scan.begin(this.#at);
    const before = scan.at;
    const end = scan.step(stepBytes);
    this.#isScanning = end === undefined;
    if (end === notJson) this.#end(false);
    else if (end !== undefined) this.#finish(end);
    return this.#isFinished ? 0 : Math.max(1, scan.at - before);
  }

  #finish(end: number): void {
    this.#keep(this.#text.slice(this.#at, end));
    const after = skipSpace(this.#bytes, end);
    const code = this.#bytes[after];
    if (code === comma) this.#at = skipSpace(this.#bytes, after + 1);
    else this.#end(code === closeBracket);
  }

  #keep(element: string): void {
    const id = readId(element);
    if (id === "null") return;
    const index = id === undefined ? undefined : this.#findIndex(id);
    if (index === undefined || this.#answers[index] !== undefined) this.#break();
    else this.#answers[index] = isBatchError(element) ? failedInBatch : element;
  }

  #findIndex(id: string): number | undefined {
    if (this.#ids[this.#next] === id) {
      this.#next += 1;
      return this.#next - 1;
    }
    this.#indexes ??= new Map(this.#ids.map((own, index) => [own, index]));
    return this.#indexes.get(id);
  }

  #end(isWhole: boolean): void {
    this.#isFinished = true;
    this.#isBroken ||= !isWhole && !this.#isCut;
  }

  #break(): void {
    this.#isBroken = true;
    this.#isFinished = true;
  }
}

/** Matches an id that is the first, second or last member of a response: text at the end of an object can't be part of a string or of an inner object. */
const idAtStart = /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]*"|\d+|null)\s*,/;
const idAtEnd = /,\s*"id"\s*:\s*("[^"\\]*"|\d+|null)\s*\}$/;
/**
 * Max length of a response that is searched for its id. In a longer response, the id, of at most `idBytes`, must be at either end, where
 * nodes write it.
 */
const searchedBytes = 65_536;
const idBytes = 2_048;

/** Reads the id of a response; `null` if it has none; undefined if it isn't an object, or if it is long and its id is at neither end. */
function readId(element: string): string | undefined {
  const first = idAtStart.exec(element.slice(0, idBytes))?.[1];
  if (first !== undefined) return first;
  if (element.length > searchedBytes) return idAtEnd.exec(element.slice(-idBytes))?.[1];
  const members = readObject(element);
  return members === undefined ? undefined : (members.get("id") ?? "null");
}

/** Error texts that concern the batch rather than the call: geth's "response too large"; other nodes mention the batch. */
const batchErrors = /response too large|\bbatch/i;
/** Max length of a response that is searched for such an error. */
const errorLength = 4_096;

function isBatchError(element: string): boolean {
  if (element.length > errorLength || !element.includes('"error"')) return false;
  const error = readObject(element)?.get("error");
  const members = error === undefined ? undefined : readObject(error);
  return members?.get("code")?.startsWith("-32") === true && batchErrors.test(members.get("message") ?? "");
}

/** Start of most nodes' results, up to the id, and the text that follows the id. */
const answerStart = '{"jsonrpc":"2.0","id":';
const resultStart = ',"result":';

/** The node's response to a batch in most nodes' format: the results of all calls, in order, without white space between them. */
export class TypicalResponses {
  readonly text: string;
  readonly #ends: readonly number[];

  /**
   * @param ends Offset after each response in the text.
   */
  constructor(text: string, ends: readonly number[]) {
    this.text = text;
    this.#ends = ends;
  }

  startOf(index: number): number {
    return index === 0 ? 1 : this.endOf(index - 1) + 1;
  }

  endOf(index: number): number {
    return this.#ends[index] ?? 0;
  }

  /** Returns the responses from one index to another (exclusive), unchanged from the text. */
  slice(from: number, to: number): string {
    return this.text.slice(this.startOf(from), this.endOf(to - 1));
  }
}

/** Parses a response in this format to calls with these ids, all at once. Returns undefined if the response has any other format or contains an error. */
export function readTypicalResponses(
  bytes: Buffer,
  calls: readonly Readonly<{ id: string }>[],
): TypicalResponses | undefined {
  if (bytes[0] !== openBracket) return undefined;
  const budget = createUnlimitedBudget();
  const ends: number[] = [];
  const last = calls.length - 1;
  let at = 1;
  for (const { id } of calls) {
    const resultAt = at + answerStart.length + id.length + resultStart.length;
    if (!isAt(bytes, at, answerStart) || !isAt(bytes, at + answerStart.length, id)) return undefined;
    if (!isAt(bytes, resultAt - resultStart.length, resultStart)) return undefined;
    const end = skipValue(bytes, resultAt, answerDepth, budget);
    if (end === notJson || bytes[end] !== closeBrace) return undefined;
    if (bytes[end + 1] !== (ends.length === last ? closeBracket : comma)) return undefined;
    ends.push(end + 1);
    at = end + 2;
  }
  return new TypicalResponses(bytes.toString("latin1"), ends);
}
