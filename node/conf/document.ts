import JSON5 from "json5";
import { createScanner, parse, type ParseError } from "jsonc-parser";
import type { ConfigProblem } from "./problem.ts";
import { positionAt } from "./text-position.ts";

/** Strict JSON and JSON with comments can be edited in place; JSON5 can't. */
type ConfigFormat = "json" | "jsonc" | "json5";

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A node.conf that can be read. */
export type ConfigDocument = Readonly<{
  format: ConfigFormat;
  /** Without the byte order mark. */
  text: string;
  /** Whether a byte order mark stands before the text. */
  byteOrderMark: boolean;
  value: JsonObject;
  chain: JsonObject;
}>;

/** A document, or what is wrong. */
export type ConfigParseResult = Readonly<
  { ok: true; document: ConfigDocument } | { ok: false; problem: ConfigProblem }
>;

/** Reads the bytes of a node.conf: UTF-8, strict JSON, JSON with comments or JSON5, one object with a `chain` object. */
export function parseConfig(bytes: Uint8Array): ConfigParseResult {
  const decoded = decode(bytes);
  if (decoded === undefined) {
    return failure("NotText", "is not UTF-8 text; write JSON, or restore the file from a backup.");
  }
  const byteOrderMark = decoded.startsWith("\uFEFF");
  const text = byteOrderMark ? decoded.slice(1) : decoded;
  if (text.trim() === "") return failure("Empty", "is empty; expected a JSON object with a chain object.");
  const deep = tooDeep(text);
  if (deep !== undefined) return { ok: false, problem: deep };
  const read = readText(text);
  if (!read.ok) return read;
  const { value, format } = read;
  if (!isJsonObject(value)) {
    return failure("NotAnObject", `holds ${nameOf(value)}; expected one JSON object with a chain object.`);
  }
  const chain = value["chain"];
  if (!isJsonObject(chain)) {
    const found = chain === undefined ? "has no chain" : `has ${nameOf(chain)} as chain`;
    return failure("NoChain", `${found}; expected chain to be an object with monitor_config and startup_config.`);
  }
  return { ok: true, document: { format, text, byteOrderMark, value, chain } };
}

/** Whether a value is an object with keys (no array, not null). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Names a JSON value's type as a person would. */
function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "object" ? "an object" : `a ${type}`;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    // TextDecoder throws on the first byte that is no UTF-8; the caller says so in words.
    return undefined;
  }
}

type ReadText = Readonly<{ ok: true; value: unknown; format: ConfigFormat } | { ok: false; problem: ConfigProblem }>;

function readText(text: string): ReadText {
  try {
    return { ok: true, value: JSON.parse(text), format: "json" };
  } catch {
    // Not strict JSON: the more lenient readers follow.
  }
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true, disallowComments: false });
  if (errors.length === 0) return { ok: true, value, format: "jsonc" };
  try {
    return { ok: true, value: JSON5.parse(text), format: "json5" };
  } catch (cause) {
    const { lineNumber: line, columnNumber: column } = cause as { lineNumber?: number; columnNumber?: number };
    const words = (cause as Error).message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    const where = line === undefined || column === undefined ? {} : { line, column };
    const message = `is not complete JSON (${words}); it may be half written: write the whole file again.`;
    return { ok: false, problem: { reason: "HalfWritten", message, ...where } };
  }
}

/** Levels of objects and arrays; a node.conf has five. What reads deeper ones needs a stack that has no limit. */
const nestingMax = 100;

/** jsonc-parser's `SyntaxKind`s of the brackets and of the end: its enum is a const enum, which type stripping can't import. */
const [openBrace, closeBrace, openBracket, closeBracket, endOfFile] = [1, 2, 3, 4, 17];

function tooDeep(text: string): ConfigProblem | undefined {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let token: number = scanner.scan(); token !== endOfFile; token = scanner.scan()) {
    if (token === openBrace || token === openBracket) depth += 1;
    else if (token === closeBrace || token === closeBracket) depth -= 1;
    if (depth <= nestingMax) continue;
    const message = `is nested more than ${nestingMax} levels deep; is it a node.conf? Write it flatter, or restore it from a backup.`;
    return { reason: "TooDeep", message, ...positionAt(text, scanner.getTokenOffset()) };
  }
  return undefined;
}

function failure(reason: ConfigProblem["reason"], message: string): ConfigParseResult {
  return { ok: false, problem: { reason, message } };
}
