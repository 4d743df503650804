import { createUnlimitedBudget, isAt, notJson, skipValue } from "../json-rpc/json-scanner.ts";
import { responseDepth } from "./batch-responses.ts";

/** Start of most nodes' results, up to the id, and the text that follows the id. */
const responseStart = '{"jsonrpc":"2.0","id":';
const resultStart = ',"result":';

const openBracket = 0x5b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
const comma = 0x2c;

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

  startOf(place: number): number {
    return place === 0 ? 1 : this.endOf(place - 1) + 1;
  }

  endOf(place: number): number {
    return this.#ends[place] ?? 0;
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
    const resultAt = at + responseStart.length + id.length + resultStart.length;
    if (!isAt(bytes, at, responseStart) || !isAt(bytes, at + responseStart.length, id)) return undefined;
    if (!isAt(bytes, resultAt - resultStart.length, resultStart)) return undefined;
    const end = skipValue(bytes, resultAt, responseDepth, budget);
    if (end === notJson || bytes[end] !== closeBrace) return undefined;
    if (bytes[end + 1] !== (ends.length === last ? closeBracket : comma)) return undefined;
    ends.push(end + 1);
    at = end + 2;
  }
  return new TypicalResponses(bytes.toString("latin1"), ends);
}
