import { amplyBudgeted, isAt, notJson, skipSpace, skipValue, type ScanBudget } from "../envelope/json-scanner.ts";
import { readObject } from "../envelope/read-object.ts";

/** Deepest nesting that is read in what the node sends. */
const depth = 512;

const openBracket = 0x5b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
const comma = 0x2c;

/** How most nodes begin an answer, up to its id, and what follows it. */
const answerStart = '{"jsonrpc":"2.0","id":';
const resultStart = ',"result":';
const errorStart = ',"error":';

/** Stands for an answer that says that the call failed for being in this batch: alone it may succeed. */
export const ofTheBatch = "";

/** The node's answers by the places of the calls that they answer, as slices of one binary string; none where the node gave none. */
export type BatchAnswers = readonly (string | undefined)[];

/**
 * Reads the node's answer to a batch of calls with these ids (JSON text), an element at a time. Elements without one of the ids that
 * were asked for are passed over when they name none (`null`: the node could not tell), and make the whole untrustworthy when
 * they name another, or one for the second time: `answers` is undefined. So is what is no JSON array, unless it was `cut`: then it is
 * read up to its last whole element.
 */
export class BatchAnswerReading {
  readonly #bytes: Buffer;
  readonly #text: string;
  readonly #ids: readonly string[];
  readonly #places: Places;
  readonly #budget = amplyBudgeted();
  readonly #isCut: boolean;
  readonly #answers: (string | undefined)[];
  #at: number;
  /** Place of the call whose answer is next, in most nodes' order. */
  #next = 0;
  #isOver = false;
  #isBroken = false;

  constructor(bytes: Buffer, ids: readonly string[], { cut }: Readonly<{ cut: boolean }>) {
    this.#bytes = bytes;
    this.#text = bytes.toString("latin1");
    this.#ids = ids;
    this.#places = new Places(ids);
    this.#isCut = cut;
    this.#answers = Array.from({ length: ids.length });
    const start = skipSpace(bytes, 0);
    this.#at = skipSpace(bytes, start + 1);
    if (bytes[start] !== openBracket) this.#break();
    else this.#isOver = bytes[this.#at] === closeBracket;
  }

  /** What was read, once `step` has answered 0; undefined when none of it is to be trusted. */
  get answers(): BatchAnswers | undefined {
    return this.#isBroken ? undefined : this.#answers;
  }

  /** Reads an element; answers its length in bytes, 0 when there are no more. */
  step(): number {
    if (this.#isOver) return 0;
    const bytes = this.#bytes;
    const start = this.#at;
    const end = this.#readElement();
    if (end === notJson) {
      this.#isOver = true;
      this.#isBroken ||= !this.#isCut;
      return 0;
    }
    const after = skipSpace(bytes, end);
    if (bytes[after] === comma) this.#at = skipSpace(bytes, after + 1);
    else {
      this.#isOver = true;
      if (bytes[after] !== closeBracket) this.#isBroken ||= !this.#isCut;
    }
    return this.#isBroken ? 0 : end - start;
  }

  /** Where the element ends that begins here, or {@link notJson}. */
  #readElement(): number {
    const start = this.#at;
    const place = this.#next;
    this.#next += 1;
    const id = this.#ids[place];
    // Most nodes answer in the order of the calls, and write an answer's members in the same order.
    const usualEnd = endOfUsual(this.#bytes, start, { id, budget: this.#budget });
    if (usualEnd !== notJson && this.#answers[place] === undefined) {
      const isError = this.#bytes[start + answerStart.length + (id?.length ?? 0) + 2] === errorStart.charCodeAt(2);
      const element = this.#text.slice(start, usualEnd);
      this.#answers[place] = isError && isBatchError(element) ? ofTheBatch : element;
      return usualEnd;
    }
    const end = skipValue(this.#bytes, start, depth, this.#budget);
    if (end !== notJson) this.#take(this.#text.slice(start, end));
    return end;
  }

  #take(element: string): void {
    const id = idOf(element);
    if (id === "null") return;
    const place = id === undefined ? undefined : this.#places.of(id);
    if (place === undefined || this.#answers[place] !== undefined) this.#break();
    else this.#answers[place] = isBatchError(element) ? ofTheBatch : element;
  }

  #break(): void {
    this.#isBroken = true;
    this.#isOver = true;
  }
}

/** Finds the place of an id; looked for only when a node answers in another order or in another way than most. */
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

/** Where the answer to the call with this id ends, if it stands at `at` as most nodes write it; else {@link notJson}. */
function endOfUsual(
  bytes: Buffer,
  at: number,
  { id, budget }: Readonly<{ id: string | undefined; budget: ScanBudget }>,
): number {
  if (id === undefined || !isAt(bytes, at, answerStart) || !isAt(bytes, at + answerStart.length, id)) return notJson;
  const idEnd = at + answerStart.length + id.length;
  let valueAt = idEnd;
  if (isAt(bytes, idEnd, resultStart)) valueAt += resultStart.length;
  else if (isAt(bytes, idEnd, errorStart)) valueAt += errorStart.length;
  else return notJson;
  const end = skipValue(bytes, valueAt, depth - 1, budget);
  return end !== notJson && bytes[end] === closeBrace ? end + 1 : notJson;
}

/** The id of an answer, JSON text; `null` when it has none, undefined when it is no object. */
function idOf(element: string): string | undefined {
  const members = readObject(element);
  return members === undefined ? undefined : (members.get("id") ?? "null");
}

/** Error texts that tell of the batch and not of the call: geth's "response too large", others name the batch. */
const batchErrors = /response too large|\bbatch/i;
/** Longest answer that is looked at for such an error. */
const errorLength = 4_096;

function isBatchError(element: string): boolean {
  if (element.length > errorLength) return false;
  const error = readObject(element)?.get("error");
  const members = error === undefined ? undefined : readObject(error);
  return members?.get("code")?.startsWith("-32") === true && batchErrors.test(members.get("message") ?? "");
}
