import { amplyBudgeted, isAt, notJson, skipSpace, skipValue } from "../envelope/json-scanner.ts";
import { readObject } from "../envelope/read-object.ts";

/** Deepest nesting that is read in what the node sends. */
const depth = 512;

/** How most nodes begin an answer, up to its id. */
const answerStart = '{"jsonrpc":"2.0","id":';

/**
 * The elements of the node's answer to a batch by their ids (JSON text), as slices of its bytes. Elements without one of the ids that
 * were asked for are passed over when they name none (`null`: the node could not tell), and make the whole untrustworthy when
 * they name another, or one for the second time: undefined. So is what is no JSON array, unless it was `cut`: then it is read up to its last
 * whole element.
 */
export function readBatchAnswer(
  bytes: Buffer,
  asked: ReadonlySet<string>,
  { cut }: Readonly<{ cut: boolean }> = { cut: false },
): ReadonlyMap<string, Buffer> | undefined {
  const answers = new Map<string, Buffer>();
  const budget = amplyBudgeted();
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== 0x5b) return undefined;
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === 0x5d) return answers;
  for (;;) {
    const end = skipValue(bytes, at, depth, budget);
    if (end === notJson) return cut ? answers : undefined;
    const element = bytes.subarray(at, end);
    const id = idOf(element);
    if (id !== "null") {
      if (id === undefined || !asked.has(id) || answers.has(id)) return undefined;
      answers.set(id, element);
    }
    at = skipSpace(bytes, end);
    if (bytes[at] === 0x5d) return answers;
    if (bytes[at] !== 0x2c) return cut ? answers : undefined;
    at = skipSpace(bytes, at + 1);
  }
}

/** The id of an answer, JSON text; `null` when it has none, undefined when it is no object. */
function idOf(element: Buffer): string | undefined {
  if (isAt(element, 0, answerStart)) {
    const end = skipValue(element, answerStart.length, 1, amplyBudgeted());
    if (end !== notJson && (isAt(element, end, ',"result":') || isAt(element, end, ',"error":'))) {
      return element.toString("latin1", answerStart.length, end);
    }
  }
  const members = readObject(element.toString("latin1"));
  return members === undefined ? undefined : (members.get("id") ?? "null");
}

/** Error texts that tell of the batch and not of the call: geth's "response too large", others name the batch. */
const ofTheBatch = /response too large|\bbatch/i;

/** Whether an answer says that the call failed for being in this batch: alone it may succeed. */
export function isBatchError(element: Buffer): boolean {
  // Most answers are results, and results are long: they are told by how they begin.
  const from = element.subarray(0, 128).toString("latin1");
  if (from.includes('"result":') || element.length > 4_096) return false;
  const error = readObject(element.toString("latin1"))?.get("error");
  const members = error === undefined ? undefined : readObject(error);
  return members?.get("code")?.startsWith("-32") === true && ofTheBatch.test(members.get("message") ?? "");
}
