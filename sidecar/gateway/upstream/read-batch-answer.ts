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
 * The elements of the node's answer to a batch of calls with these ids (JSON text). Elements without one of the ids that
 * were asked for are passed over when they name none (`null`: the node could not tell), and make the whole untrustworthy when
 * they name another, or one for the second time: undefined. So is what is no JSON array, unless it was `cut`: then it is read up to its last
 * whole element.
 */
export function readBatchAnswer(
  bytes: Buffer,
  ids: readonly string[],
  { cut }: Readonly<{ cut: boolean }> = { cut: false },
): BatchAnswers | undefined {
  const answers: (string | undefined)[] = Array.from({ length: ids.length });
  const text = bytes.toString("latin1");
  const budget = amplyBudgeted();
  const places = new Places(ids);
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== openBracket) return undefined;
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === closeBracket) return answers;
  for (let next = 0; ; next += 1) {
    // Most nodes answer in the order of the calls, and write an answer's members in the same order.
    let end = endOfUsual(bytes, at, { id: ids[next], budget });
    if (end !== notJson && answers[next] === undefined) {
      const isError = bytes[at + answerStart.length + (ids[next]?.length ?? 0) + 2] === errorStart.charCodeAt(2);
      const element = text.slice(at, end);
      answers[next] = isError && isBatchError(element) ? ofTheBatch : element;
    } else {
      end = skipValue(bytes, at, depth, budget);
      if (end === notJson) return cut ? answers : undefined;
      const element = text.slice(at, end);
      const id = idOf(element);
      if (id !== "null") {
        const place = id === undefined ? undefined : places.of(id);
        if (place === undefined || answers[place] !== undefined) return undefined;
        answers[place] = isBatchError(element) ? ofTheBatch : element;
      }
    }
    at = skipSpace(bytes, end);
    if (bytes[at] === closeBracket) return answers;
    if (bytes[at] !== comma) return cut ? answers : undefined;
    at = skipSpace(bytes, at + 1);
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
