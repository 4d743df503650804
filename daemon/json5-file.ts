import { readFileSync } from "node:fs";
import JSON5 from "json5";

/** A file's value and text, or one sentence that says what is wrong with the file and where (line and column). */
export type Json5FileResult = Readonly<{ ok: true; value: unknown; text: string } | { ok: false; message: string }>;

/** Reads a JSON5 file (JSON with comments and plain JSON are JSON5, too). */
export function readJson5File(path: string): Json5FileResult {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
    return { ok: false, message: `can't be read (${code}); name a readable JSON5 file.` };
  }
  try {
    return { ok: true, value: JSON5.parse(text), text };
  } catch (cause) {
    const { lineNumber, columnNumber } = cause as { lineNumber?: number; columnNumber?: number };
    const message = (cause as Error).message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    return { ok: false, message: `line ${lineNumber}, column ${columnNumber}: ${message}; expected JSON5.` };
  }
}
