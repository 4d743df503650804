import { isDeepStrictEqual } from "node:util";
import { evaluate, parse, tokenize, type Token, type ValueNode } from "@humanwhocodes/momoa";
import JSON5 from "json5";
import type { TextPosition } from "./problem.ts";

export type ParsedText = Readonly<{
  /** Strictest format that matches the text. JSON and JSON with comments are edited in place; JSON5 is not. */
  format: "json" | "jsonc" | "json5";
  text: string;
  /** The text with comments replaced by blanks, so that the text between two values can be searched. */
  bare: string;
  value: unknown;
  /** Undefined for the few JSON5 forms whose positions can't be determined, such as `+.5`, or `true` as a key. */
  root: ValueNode | undefined;
}>;

export type ParseTextResult = Readonly<{ ok: true; parsed: ParsedText } | { ok: false; problem: TextProblem }>;

/** Problem with a text; `words` describes what was found at that position. */
export type TextProblem = Readonly<{ reason: "TooDeep" | "Truncated"; words: string }> & TextPosition;

/** Max nesting depth of objects and arrays; a node.conf has five levels. Tree walks may recurse to this depth. */
const levelsMax = 100;

/**
 * Parses a text (without byte order mark) as JSON, or else as JSON with comments and trailing commas, or else as JSON5. `JSON.parse` and
 * json5 determine what counts as JSON and JSON5. Positions come from momoa, which is more lenient than either.
 */
export function parseText(text: string): ParseTextResult {
  return parseJson(text) ?? parseJsonWithComments(text) ?? parseJson5(text);
}

export function listComments({ format, text }: Pick<ParsedText, "format" | "text">): readonly Token[] {
  if (format === "json") return [];
  return (attempt(() => tokenize(text, { mode: format })) ?? []).filter(isComment);
}

function parseJson(text: string): ParseTextResult | undefined {
  const value = attempt(() => JSON.parse(text) as unknown);
  if (value === undefined) return undefined;
  if (countLevels(text) > levelsMax) return rejectDepth(findTooDeepPosition(tokenize(text)));
  const root = attempt(() => parse(text, { mode: "json" }).body);
  return { ok: true, parsed: { format: "json", text, bare: text, value, root } };
}

function parseJsonWithComments(text: string): ParseTextResult | undefined {
  const tokens = attempt(() => tokenize(text, { mode: "jsonc" }));
  if (tokens === undefined) return undefined;
  const deep = findTooDeepPosition(tokens);
  if (deep !== undefined) return rejectDepth(deep);
  // momoa accepts line breaks and other control characters in strings. JSON does not (RFC 8259, 7), and they indicate a half-written file.
  if (tokens.some((token) => token.type === "String" && /[^ -\uFFFF]/.test(getTokenText(text, token))))
    return undefined;
  const bare = withoutComments(text, tokens);
  const root = attempt(() => parse(bare, { mode: "json", allowTrailingCommas: true }).body);
  return root === undefined
    ? undefined
    : { ok: true, parsed: { format: "jsonc", text, bare, value: evaluate(root), root } };
}

function parseJson5(text: string): ParseTextResult {
  let value: unknown;
  try {
    value = JSON5.parse(text);
  } catch (cause) {
    const { lineNumber: line = 1, columnNumber: column = 1 } = cause as { lineNumber?: number; columnNumber?: number };
    const words = (cause as Error).message.replace(/^JSON5: /, "").replace(/ at \d+:\d+$/, "");
    return { ok: false, problem: { reason: "Truncated", words, line, column: Math.max(1, column) } };
  }
  const tokens = attempt(() => tokenize(text, { mode: "json5" }));
  const deep = tokens === undefined ? undefined : findTooDeepPosition(tokens);
  if (deep !== undefined || isDeeper(value, levelsMax)) return rejectDepth(deep);
  const bare = tokens === undefined ? text : withoutComments(text, tokens);
  const root = attempt(() => parse(bare, { mode: "json5" }).body);
  // The parsers disagree about where a comment that contains U+2028 ends.
  const agrees = root !== undefined && isDeepStrictEqual(evaluate(root), value);
  return { ok: true, parsed: { format: "json5", text, bare, value, root: agrees ? root : undefined } };
}

/** Returns a parser's result; undefined if the parser throws. In that case another parser, or that parser's error message, reports the problem. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Replaces comments with blanks, because momoa recurses for each consecutive comment. Preserves offsets, lines and columns. */
function withoutComments(text: string, tokens: readonly Token[]): string {
  let end = 0;
  const parts = tokens.filter(isComment).map((token) => {
    const between = text.slice(end, token.loc.start.offset);
    end = token.loc.end.offset;
    return between + getTokenText(text, token).replace(/[^\r\n]/g, " ");
  });
  return parts.join("") + text.slice(end);
}

function isComment({ type }: Token): boolean {
  return type === "LineComment" || type === "BlockComment";
}

function getTokenText(text: string, { loc }: Token): string {
  return text.slice(loc.start.offset, loc.end.offset);
}

/** Computes the nesting depth of a JSON text without tokenizing it: for a text of brackets, tokens take 200 times the text's memory. */
function countLevels(json: string): number {
  let level = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at];
    if (sign === "\\") at += 1;
    else if (sign === '"') inString = !inString;
    else if (!inString && (sign === "{" || sign === "[")) level += 1;
    else if (!inString && (sign === "}" || sign === "]")) level -= 1;
    deepest = Math.max(deepest, level);
  }
  return deepest;
}

/** Finds the first object or array that is nested too deeply. */
function findTooDeepPosition(tokens: readonly Token[]): TextPosition | undefined {
  let levels = 0;
  for (const { type, loc } of tokens) {
    if (type === "LBrace" || type === "LBracket") levels += 1;
    else if (type === "RBrace" || type === "RBracket") levels -= 1;
    if (levels > levelsMax) return { line: loc.start.line, column: loc.start.column };
  }
  return undefined;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeper(child, levels - 1));
}

function rejectDepth(place: TextPosition = { line: 1, column: 1 }): ParseTextResult {
  return { ok: false, problem: { reason: "TooDeep", words: `nested more than ${levelsMax} levels deep`, ...place } };
}
