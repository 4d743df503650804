import JSON5 from "json5";
import { describeDuplicateKey } from "./json5-tree.ts";
import { readRegularText, explainUnreadable } from "./regular-file.ts";

/** A file's value and text, or one sentence that describes the problem and its position (line and column). */
export type Json5FileResult = Readonly<{ ok: true; value: unknown; text: string } | { ok: false; message: string }>;

/** Max size of a JSON5 file: more than twice the size of a file with the maximum of 100,000 API keys. */
const json5Bytes = 33_554_432;

/** Max size of a file that is searched for duplicate keys, which takes a tree in memory: larger ones are long lists of API keys. */
const searchedCharacters = 1_048_576;

/** Reads a JSON5 file: a regular file of at most 32 MiB (JSON with comments and plain JSON are valid JSON5). */
export function readJson5File(path: string): Json5FileResult {
  let text: string;
  try {
    text = readRegularText(path, json5Bytes);
  } catch (cause) {
    return { ok: false, message: `can't be read (${explainUnreadable(cause)}); expected a readable JSON5 file.` };
  }
  try {
    const value: unknown = JSON5.parse(text);
    const duplicateKey = text.length > searchedCharacters ? undefined : describeDuplicateKey(text);
    return duplicateKey === undefined ? { ok: true, value, text } : { ok: false, message: duplicateKey };
  } catch (cause) {
    const { lineNumber, columnNumber } = cause as { lineNumber?: number; columnNumber?: number };
    const message = (cause as Error).message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    return { ok: false, message: `line ${lineNumber}, column ${columnNumber}: ${message}; expected JSON5.` };
  }
}
