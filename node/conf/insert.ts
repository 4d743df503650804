import type { Node } from "jsonc-parser";

/**
 * Puts a property into an object of a text of JSON or JSON with comments: behind its last one, or as its first. It takes a line of its
 * own where the others do, or where the text has lines; every other byte stays.
 */
export function insertProperty(text: string, object: Node, key: string, value: unknown): string {
  const last = object.children?.at(-1);
  return last === undefined ? insertFirst(text, object, key, value) : insertBehind(text, object, last, key, value);
}

/** Writes a value in the style of the text, to stand on a line with the given indentation. */
export function renderValue(text: string, value: unknown, indent: string): string {
  if (!text.includes("\n")) return JSON.stringify(value);
  return JSON.stringify(value, null, unitOf(text)).replaceAll("\n", `${eolOf(text)}${indent}`);
}

/** The blanks at the beginning of the line on which an offset stands. */
export function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function insertBehind(text: string, object: Node, last: Node, key: string, value: unknown): string {
  // Right behind the last value, so that comments and a trailing comma after it stay where they are.
  const end = last.offset + last.length;
  const before = text.slice(text.lastIndexOf("\n", last.offset) + 1, last.offset);
  const hasOwnLine = /^\s*$/.test(before) && text.slice(object.offset, last.offset).includes("\n");
  const gap = hasOwnLine ? `${eolOf(text)}${before}` : " ";
  const colon = / *: */.exec(text.slice(last.offset + (last.children?.[0]?.length ?? 0)))?.[0] ?? ": ";
  const rendered = hasOwnLine ? renderValue(text, value, before) : JSON.stringify(value);
  return `${text.slice(0, end)},${gap}${JSON.stringify(key)}${colon}${rendered}${text.slice(end)}`;
}

function insertFirst(text: string, object: Node, key: string, value: unknown): string {
  const start = object.offset + 1;
  const end = object.offset + object.length - 1;
  const inside = text.slice(start, end);
  if (inside.trim() !== "" || !text.includes("\n")) {
    const blank = inside === "" || /^\s/.test(inside) ? "" : " ";
    return `${text.slice(0, start)}${JSON.stringify(key)}: ${JSON.stringify(value)}${blank}${text.slice(start)}`;
  }
  const outer = indentAt(text, object.offset);
  const indent = `${outer}${unitOf(text)}`;
  const eol = eolOf(text);
  const property = `${JSON.stringify(key)}: ${renderValue(text, value, indent)}`;
  return `${text.slice(0, start)}${eol}${indent}${property}${eol}${outer}${text.slice(end)}`;
}

/** One level of indentation, as the text's first indented line has it. */
function unitOf(text: string): string {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  return indent.startsWith("\t") ? "\t" : indent;
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
