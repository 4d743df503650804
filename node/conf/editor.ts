import type { MemberNode, ObjectNode, ValueNode } from "@humanwhocodes/momoa";
import { readJson5Key, findJson5Node } from "#daemon/files/json5-tree.ts";
import type { ParsedText } from "./parsed-text.ts";

/*
 * Edits of a text of JSON or JSON with comments. Each returns the whole text with only the named part changed: comments, whitespace, line
 * endings and numbers beyond 2^53 stay as written. Undefined if the path does not exist.
 */

/** A new key comes last, on its own line if the text spans several lines; missing objects on the path are created. */
export function setValue(parsed: ParsedText, path: readonly string[], value: unknown): string | undefined {
  const { text, root } = parsed;
  const found = findJson5Node(root, path);
  if (found !== undefined) {
    return replace(text, found, renderValue(text, value, readIndent(text, found.loc.start.offset)));
  }
  const [key, ...rest] = path.slice(findExistingPath(root, path).length);
  const object = findJson5Node(root, findExistingPath(root, path));
  if (key === undefined || object?.type !== "Object") return undefined;
  const inner = rest.reduceRight((nested: unknown, name) => ({ [name]: nested }), value);
  return insert(text, object, key, inner);
}

export function renameKey({ text, root }: ParsedText, path: readonly string[], to: string): string | undefined {
  const { member } = findMember(root, path);
  return member === undefined ? undefined : replace(text, member.name, JSON.stringify(to));
}

/** Removes the property at a path and one comma, and the line if nothing else is on it. Keeps surrounding comments. */
export function removeProperty({ text, bare, root }: ParsedText, path: readonly string[]): string | undefined {
  const { member, previous } = findMember(root, path);
  if (member === undefined) return undefined;
  let start = member.loc.start.offset;
  let end = member.loc.end.offset;
  let rest = text;
  const after = findCommaAfter(bare, end);
  const before =
    after === undefined && previous !== undefined ? findCommaAfter(bare, previous.loc.end.offset) : undefined;
  if (after !== undefined) rest = withoutCharacter(text, after);
  if (before !== undefined) {
    rest = withoutCharacter(text, before);
    start -= 1;
    end -= 1;
  }
  const lineStart = rest.lastIndexOf("\n", start - 1) + 1;
  const newline = rest.indexOf("\n", end);
  const alone = newline !== -1 && rest.slice(lineStart, start).trim() === "" && rest.slice(end, newline).trim() === "";
  return alone ? rest.slice(0, lineStart) + rest.slice(newline + 1) : rest.slice(0, start) + rest.slice(end);
}

type Found = Readonly<{ member?: MemberNode | undefined; previous?: MemberNode | undefined }>;

function findMember(root: ValueNode | undefined, path: readonly string[]): Found {
  const object = findJson5Node(root, path.slice(0, -1));
  if (object?.type !== "Object") return {};
  const index = object.members.findIndex((member) => readJson5Key(member) === path.at(-1));
  return { member: object.members[index], previous: object.members[index - 1] };
}

function findExistingPath(root: ValueNode | undefined, path: readonly string[]): readonly string[] {
  const missing = path.findIndex((_, index) => findJson5Node(root, path.slice(0, index + 1)) === undefined);
  return missing === -1 ? path : path.slice(0, missing);
}

function replace(text: string, { loc }: Pick<ValueNode, "loc">, replacement: string): string {
  return text.slice(0, loc.start.offset) + replacement + text.slice(loc.end.offset);
}

function withoutCharacter(text: string, offset: number): string {
  return text.slice(0, offset) + text.slice(offset + 1);
}

function findCommaAfter(bare: string, offset: number): number | undefined {
  const blanks = /^\s*/.exec(bare.slice(offset))?.[0].length ?? 0;
  return bare[offset + blanks] === "," ? offset + blanks : undefined;
}

function insert(text: string, object: ObjectNode, key: string, value: unknown): string {
  const last = object.members.at(-1);
  return last === undefined ? insertFirst(text, object, key, value) : insertBehind(text, object, last, key, value);
}

function insertBehind(text: string, object: ObjectNode, last: MemberNode, key: string, value: unknown): string {
  // Inserted directly after the last value, so that comments and a trailing comma after the value stay where they are.
  const end = last.loc.end.offset;
  const start = last.loc.start.offset;
  const before = text.slice(text.lastIndexOf("\n", start) + 1, start);
  const hasOwnLine = /^\s*$/.test(before) && text.slice(object.loc.start.offset, start).includes("\n");
  const gap = hasOwnLine ? `${readEol(text)}${before}` : " ";
  const colon = / *: */.exec(text.slice(last.name.loc.end.offset))?.[0] ?? ": ";
  const rendered = hasOwnLine ? renderValue(text, value, before) : JSON.stringify(value);
  return `${text.slice(0, end)},${gap}${JSON.stringify(key)}${colon}${rendered}${text.slice(end)}`;
}

function insertFirst(text: string, { loc }: ObjectNode, key: string, value: unknown): string {
  const start = loc.start.offset + 1;
  const end = loc.end.offset - 1;
  const inside = text.slice(start, end);
  if (inside.trim() !== "" || !text.includes("\n")) {
    const blank = inside === "" || /^\s/.test(inside) ? "" : " ";
    return `${text.slice(0, start)}${JSON.stringify(key)}: ${JSON.stringify(value)}${blank}${text.slice(start)}`;
  }
  const outer = readIndent(text, loc.start.offset);
  const indent = `${outer}${readIndentUnit(text)}`;
  const eol = readEol(text);
  const property = `${JSON.stringify(key)}: ${renderValue(text, value, indent)}`;
  return `${text.slice(0, start)}${eol}${indent}${property}${eol}${outer}${text.slice(end)}`;
}

function renderValue(text: string, value: unknown, indent: string): string {
  if (!text.includes("\n")) return JSON.stringify(value);
  return JSON.stringify(value, null, readIndentUnit(text)).replaceAll("\n", `${readEol(text)}${indent}`);
}

function readIndent(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

/** Returns one level of indentation, taken from the text's first indented line. */
function readIndentUnit(text: string): string {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  return indent.startsWith("\t") ? "\t" : indent;
}

function readEol(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
