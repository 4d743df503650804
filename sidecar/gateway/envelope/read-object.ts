import { notJson, skipKey, skipSpace, skipString, skipValue } from "./json-scanner.ts";

/** Deepest nesting that is read in what the node sends. */
const depth = 512;

/**
 * The members of a JSON object as slices of its text, by their keys as written; of equal keys the last. Undefined when the
 * text, a binary string, is no JSON object.
 */
export function readObject(text: string): ReadonlyMap<string, string> | undefined {
  const members = new Map<string, string>();
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== 0x7b) return undefined;
  at = skipSpace(text, at + 1);
  if (text.charCodeAt(at) === 0x7d) return skipSpace(text, at + 1) === text.length ? members : undefined;
  for (;;) {
    const value = skipKey(text, at);
    const end = value === notJson ? notJson : skipValue(text, value, depth);
    if (end === notJson) return undefined;
    members.set(text.slice(at + 1, skipString(text, at) - 1), text.slice(value, end));
    const next = skipSpace(text, end);
    const code = text.charCodeAt(next);
    if (code === 0x7d) return skipSpace(text, next + 1) === text.length ? members : undefined;
    if (code !== 0x2c) return undefined;
    at = skipSpace(text, next + 1);
  }
}

/** The element at `index` of a JSON array that the scanner has accepted, as a slice of its text; undefined beyond its end. */
export function elementAt(array: string, index: number): string | undefined {
  let at = skipSpace(array, 1);
  if (array.charCodeAt(at) === 0x5d) return undefined;
  for (let place = 0; ; place += 1) {
    const end = skipValue(array, at, depth);
    if (end === notJson) return undefined;
    if (place === index) return array.slice(at, end);
    const next = skipSpace(array, end);
    if (array.charCodeAt(next) !== 0x2c) return undefined;
    at = skipSpace(array, next + 1);
  }
}
