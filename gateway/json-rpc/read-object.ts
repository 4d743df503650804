import { createUnlimitedBudget, notJson, skipKey, skipSpace, skipString, skipValue } from "./json-scanner.ts";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Max nesting depth to which the node's responses are parsed. */
const depth = 512;

/**
 * Reads the members of a JSON object as slices of its text, keyed by their raw keys; of duplicate keys, the last counts. Returns undefined
 * if the text, a binary string, is not a JSON object or has more than `maxMembers` members.
 */
export function readObject(
  text: string,
  maxMembers = Number.POSITIVE_INFINITY,
): ReadonlyMap<string, string> | undefined {
  let count = 0;
  const members = new Map<string, string>();
  const bytes = Buffer.from(text, "latin1");
  const budget = createUnlimitedBudget();
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== 0x7b) return undefined;
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === 0x7d) return skipSpace(bytes, at + 1) === text.length ? members : undefined;
  for (;;) {
    const value = skipKey(bytes, at, budget);
    const end = value === notJson ? notJson : skipValue(bytes, value, depth, budget);
    count += 1;
    if (end === notJson || count > maxMembers) return undefined;
    members.set(text.slice(at + 1, skipString(bytes, at, budget) - 1), text.slice(value, end));
    const next = skipSpace(bytes, end);
    if (bytes[next] === 0x7d) return skipSpace(bytes, next + 1) === text.length ? members : undefined;
    if (bytes[next] !== 0x2c) return undefined;
    at = skipSpace(bytes, next + 1);
  }
}

/**
 * Returns the element at `index` of a JSON array, as a slice of its text, or undefined if the array is shorter. The scanner must already
 * have accepted the text: it is not validated again.
 */
export function findElement(array: string, index: number): string | undefined {
  let position = 0;
  let open = 0;
  let start = array.indexOf("[") + 1;
  for (let at = start; at < array.length; at += 1) {
    const code = array.charCodeAt(at);
    if (code === quote) at = findClosingQuote(array, at);
    else if (code === openBracket || code === openBrace) open += 1;
    else if (code === comma && open === 0) {
      if (position === index) return array.slice(start, at).trim();
      position += 1;
      start = at + 1;
    } else if (code === closeBracket || code === closeBrace) {
      open -= 1;
      if (open < 0) return position === index ? array.slice(start, at).trim() || undefined : undefined;
    }
  }
  return undefined;
}

/** Returns the offset of the quote that closes the string at `start`. */
function findClosingQuote(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let previous = end - 1;
    while (text.charCodeAt(previous) === backslash) previous -= 1;
    if ((end - previous) % 2 === 1) return end;
  }
  return text.length;
}

/** Splits a JSON array into its elements, as slices of its text; returns an empty list if the text, a binary string, is not a JSON array. */
export function splitElements(array: string): readonly string[] {
  const elements: string[] = [];
  const bytes = Buffer.from(array, "latin1");
  const budget = createUnlimitedBudget();
  let at = skipSpace(bytes, 0);
  if (bytes[at] !== 0x5b) return [];
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === 0x5d) return [];
  for (;;) {
    const end = skipValue(bytes, at, depth, budget);
    if (end === notJson) return [];
    elements.push(array.slice(at, end));
    const next = skipSpace(bytes, end);
    if (bytes[next] !== 0x2c) return bytes[next] === 0x5d ? elements : [];
    at = skipSpace(bytes, next + 1);
  }
}
