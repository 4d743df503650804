import { isAt, notJson, skipSpace } from "../json-rpc/json-scanner.ts";
import { ValueScan } from "../json-rpc/value-scan.ts";
import { readObject } from "../json-rpc/read-object.ts";

/** Max nesting depth accepted in the node's responses. */
export const answerDepth = 512;

const openBracket = 0x5b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
const comma = 0x2c;

/** Start of most nodes' responses, up to the id, and the text that follows the id. */
export const answerStart = '{"jsonrpc":"2.0","id":';
export const resultStart = ',"result":';
const errorStart = ',"error":';

/** Number of bytes of a response that are parsed per step. */
const stepBytes = 16_384;

/** Max length of a response that is searched for its id. A longer response must have its id at either end, which is where nodes write it. */
const searchedBytes = 65_536;

/** Marks a response that reports that the call failed because of this batch; sent alone, the call may succeed. */
export const failedInBatch = "";

/** The node's responses, indexed like their calls, as slices of one binary string; undefined where the node sent no response. */
export type BatchResponses = readonly (string | undefined)[];

/** A response being parsed. */
type Element = Readonly<{ start: number; layout: "result" | "error" | "other" }>;

/**
 * Parses the node's response to a batch of calls with these ids (JSON text), in steps. An element without an id (`null`: the node did not
 * know it) is skipped. An element with an id that was not requested, or with a duplicate id, invalidates the whole response: `answers` is
 * undefined. A text that is not a JSON array also invalidates it, unless the text was `cut`, in which case it is parsed up to its last
 * complete element.
 */
export class BatchResponseReading {
  readonly #bytes: Buffer;
  readonly #text: string;
  readonly #ids: readonly string[];
  readonly #places: Places;
  readonly #isCut: boolean;
  readonly #answers: (string | undefined)[];
  readonly #scan: ValueScan;
  #at: number;
  #element: Element | undefined;
  /** Index of the call whose response comes next, if the node responds in the usual order. */
  #next = 0;
  #isOver = false;
  #isBroken = false;

  constructor(bytes: Buffer, ids: readonly string[], { cut }: Readonly<{ cut: boolean }>) {
    this.#bytes = bytes;
    this.#text = bytes.toString("latin1");
    this.#ids = ids;
    this.#places = new Places(ids);
    this.#scan = new ValueScan(bytes, answerDepth);
    this.#isCut = cut;
    this.#answers = Array.from({ length: ids.length });
    const start = skipSpace(bytes, 0);
    this.#at = skipSpace(bytes, start + 1);
    if (bytes[start] !== openBracket) this.#break();
    else this.#isOver = bytes[this.#at] === closeBracket;
  }

  /** The parsed responses, once `step` has returned 0; undefined if none of them can be trusted. */
  get answers(): BatchResponses | undefined {
    return this.#isBroken ? undefined : this.#answers;
  }

  /** Parses one step. Returns the number of bytes, or 0 at the end. */
  step(): number {
    if (this.#isOver) return 0;
    const scan = this.#scan;
    const element = this.#element ?? this.#begin();
    this.#element = element;
    const before = scan.at;
    const end = scan.step(stepBytes);
    const bytes = scan.at - before;
    if (end !== undefined) this.#finish(element, end);
    return this.#isOver ? 0 : Math.max(1, bytes);
  }

  /** Starts an element. Most nodes respond in call order, and write the members of each response in the same order. */
  #begin(): Element {
    const start = this.#at;
    const place = this.#next;
    this.#next += 1;
    const id = this.#ids[place];
    const layout =
      id === undefined || this.#answers[place] !== undefined ? "other" : findLayout(this.#bytes, start, id);
    if (id === undefined || layout === "other") return this.#beginOther(start);
    const valueStart = layout === "result" ? resultStart : errorStart;
    this.#scan.begin(start + answerStart.length + id.length + valueStart.length);
    return { start, layout };
  }

  #beginOther(start: number): Element {
    this.#scan.begin(start);
    return { start, layout: "other" };
  }

  #finish({ start, layout }: Element, scanned: number): void {
    this.#element = undefined;
    const isUsual = layout !== "other";
    if (isUsual && (scanned === notJson || this.#bytes[scanned] !== closeBrace)) {
      this.#element = this.#beginOther(start);
    } else if (scanned === notJson) {
      this.#isOver = true;
      this.#isBroken ||= !this.#isCut;
    } else {
      const end = isUsual ? scanned + 1 : scanned;
      const element = this.#text.slice(start, end);
      if (isUsual)
        this.#answers[this.#next - 1] = layout === "error" && isBatchError(element) ? failedInBatch : element;
      else this.#keep(element);
      this.#continueAt(skipSpace(this.#bytes, end));
    }
  }

  /** Continues at the next element, or ends at the end of the array. */
  #continueAt(after: number): void {
    const code = this.#bytes[after];
    if (code === comma) this.#at = skipSpace(this.#bytes, after + 1);
    else {
      this.#isOver = true;
      if (code !== closeBracket) this.#isBroken ||= !this.#isCut;
    }
  }

  #keep(element: string): void {
    const id = readId(element);
    if (id === "null") return;
    const place = id === undefined ? undefined : this.#places.of(id);
    if (place === undefined || this.#answers[place] !== undefined) this.#break();
    else this.#answers[place] = isBatchError(element) ? failedInBatch : element;
  }

  #break(): void {
    this.#isBroken = true;
    this.#isOver = true;
  }
}

/** Finds the index for an id; needed only if a node responds in an unusual order or format. */
class Places {
  readonly #ids: readonly string[];
  #places: ReadonlyMap<string, number> | undefined;

  constructor(ids: readonly string[]) {
    this.#ids = ids;
  }

  of(id: string): number | undefined {
    this.#places ??= new Map(this.#ids.map((own, place) => [own, place]));
    return this.#places.get(id);
  }
}

/** Returns the form in which the response to the call with this id starts at `at`: that of most nodes' results, that of most nodes' errors, or another. */
function findLayout(bytes: Buffer, at: number, id: string): Element["layout"] {
  if (!isAt(bytes, at, answerStart) || !isAt(bytes, at + answerStart.length, id)) return "other";
  const idEnd = at + answerStart.length + id.length;
  if (isAt(bytes, idEnd, resultStart)) return "result";
  return isAt(bytes, idEnd, errorStart) ? "error" : "other";
}

/** Matches an id that is the first, second or last member of a response: text at the end of an object can't be part of a string or of an inner object. */
const idAtStart = /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]*"|\d+|null)\s*,/;
const idAtEnd = /,\s*"id"\s*:\s*("[^"\\]*"|\d+|null)\s*\}$/;
/** Max length of an id, including its key, that is matched there. */
const idBytes = 2_048;

/**
 * Reads the id of a response (JSON text). Returns `null` if the response has none, and undefined if it is not an object, or if it is long
 * and has its id at neither end.
 */
function readId(element: string): string | undefined {
  if (element.length > searchedBytes) {
    return idAtStart.exec(element.slice(0, idBytes))?.[1] ?? idAtEnd.exec(element.slice(-idBytes))?.[1];
  }
  const members = readObject(element);
  return members === undefined ? undefined : (members.get("id") ?? "null");
}

/** Error texts that concern the batch rather than the call: geth's "response too large"; other nodes mention the batch. */
const batchErrors = /response too large|\bbatch/i;
/** Max length of a response that is searched for such an error. */
const errorLength = 4_096;

function isBatchError(element: string): boolean {
  if (element.length > errorLength) return false;
  const error = readObject(element)?.get("error");
  const members = error === undefined ? undefined : readObject(error);
  return members?.get("code")?.startsWith("-32") === true && batchErrors.test(members.get("message") ?? "");
}
