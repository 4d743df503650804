import { isAscii } from "node:buffer";
import { decodeUtf8, NotUtf8Error } from "#daemon/files/utf8.ts";
import { parseText, type ParsedText, type TextProblem } from "./parsed-text.ts";

/** `latin1`: some comments are not UTF-8. All else is ASCII then, so that each byte is one character, and edits preserve the comments. */
export type ConfigText = Readonly<{ parsed: ParsedText; byteOrderMark: boolean; encoding: "utf8" | "latin1" }>;

type ConfigTextResult = Readonly<({ ok: true } & ConfigText) | { ok: false; problem: TextProblem }> | NotUtf8Error;

/** Decodes and parses a node.conf. It must be UTF-8, except comments: no parser of a node reads them. */
export function parseConfigText(bytes: Uint8Array): ConfigTextResult {
  try {
    const text = decodeUtf8(bytes);
    const byteOrderMark = text.startsWith("\uFEFF");
    const read = parseText(byteOrderMark ? text.slice(1) : text);
    return read.ok ? { ...read, byteOrderMark, encoding: "utf8" } : read;
  } catch (error) {
    if (!(error instanceof NotUtf8Error)) throw error;
    if (bytes.includes(0)) return error;
    const read = parseText(Buffer.from(bytes).toString("latin1"));
    if (!read.ok || !hasOnlyAsciiOutsideComments(read.parsed)) return error;
    return { ...read, byteOrderMark: false, encoding: "latin1" };
  }
}

/** Returns whether everything but the comments is ASCII. */
export function hasOnlyAsciiOutsideComments({ bare }: Pick<ParsedText, "bare">): boolean {
  return isAscii(Buffer.from(bare));
}
