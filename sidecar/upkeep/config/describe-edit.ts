import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "#node/conf/document.ts";

/** Max number of keys per sentence, and max length of a key. */
const keysMax = 10;
const keyLettersMax = 120;

/**
 * Lists the keys whose values differ between two configurations, without the values, which may be secrets. Pure.
 *
 * @example
 * describeEdit({ a: { b: 1 } }, { a: { b: 2, c: 3 } }); // "a.b changed, a.c added"
 */
export function describeEdit(before: JsonObject, after: JsonObject): string {
  const found = [...listDifferences(before, after, "")];
  if (found.length === 0) return "formatting only, no value differs";
  const more = found.length > keysMax ? `, and ${found.length - keysMax} more` : "";
  return `${found.slice(0, keysMax).join(", ")}${more}`;
}

function* listDifferences(before: JsonObject, after: JsonObject, prefix: string): Generator<string> {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const path = `${prefix}${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)}`;
    const [was, is] = [before[key], after[key]];
    if (!Object.hasOwn(after, key)) yield `${cutPath(path)} removed`;
    else if (!Object.hasOwn(before, key)) yield `${cutPath(path)} added`;
    else if (isJsonObject(was) && isJsonObject(is)) yield* listDifferences(was, is, `${path}.`);
    else if (!isDeepStrictEqual(was, is)) yield `${cutPath(path)} changed`;
  }
}

function cutPath(path: string): string {
  return path.length <= keyLettersMax ? path : `${path.slice(0, keyLettersMax)}…`;
}
