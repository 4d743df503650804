import { isDeepStrictEqual } from "node:util";
import { createScanner, findNodeAtLocation, parse, parseTree, type Node } from "jsonc-parser";
import type { ConfigDocument, JsonObject } from "./document.ts";
import { positionAt } from "./text-position.ts";
import { indentAt, insertProperty, renderValue } from "./insert.ts";
import { changedValue, type ConfigChange } from "./monitor-change.ts";

/** The text after an edit, or why the text was left alone. */
export type ConfigEditResult = Readonly<{ ok: true; text: string } | { ok: false; message: string }>;

const monitorPath = ["chain", "monitor_config"];
const lenient = { allowTrailingComma: true } as const;

/**
 * Makes changes of `chain.monitor_config` in a text of JSON or JSON with comments; every other byte stays. The result is read
 * again and compared with what was meant; when it is anything else, or a key stands twice, the text is refused.
 */
export function editConfig(document: ConfigDocument, changes: readonly ConfigChange[]): ConfigEditResult {
  const twice = duplicateKey(document.text);
  if (twice !== undefined) return { ok: false, message: twice };
  const text = changes.reduce((before, change) => applyChange(before, change), document.text);
  const chain = { ...document.chain, monitor_config: changedValue(document.chain["monitor_config"], changes) };
  const intended: JsonObject = { ...document.value, chain };
  // Only strict JSON's own reader takes a key such as __proto__ for a key.
  const result: unknown = document.format === "json" ? JSON.parse(text) : parse(text, [], lenient);
  if (!isDeepStrictEqual(result, intended)) {
    return {
      ok: false,
      message: "can't be edited without touching something else; correct chain.monitor_config by hand.",
    };
  }
  return { ok: true, text };
}

function applyChange(text: string, change: ConfigChange): string {
  switch (change.kind) {
    case "create":
      return createMonitor(text, change.value);
    case "insert":
      return insertKey(text, change.key, change.value);
    case "set":
      return replaceNode(text, propertyOf(text, change.key)?.children?.[1], JSON.stringify(change.value));
    case "rename":
      return replaceNode(text, propertyOf(text, change.key)?.children?.[0], JSON.stringify(change.to));
    case "remove":
      return removeProperty(text, change.key);
  }
}

function createMonitor(text: string, value: JsonObject): string {
  const stands = findNode(text, monitorPath);
  if (stands !== undefined) return replaceNode(text, stands, renderValue(text, value, indentAt(text, stands.offset)));
  const chain = findNode(text, ["chain"]);
  return chain === undefined ? text : insertProperty(text, chain, "monitor_config", value);
}

function insertKey(text: string, key: string, value: unknown): string {
  const monitor = findNode(text, monitorPath);
  return monitor === undefined ? text : insertProperty(text, monitor, key, value);
}

function replaceNode(text: string, node: Node | undefined, replacement: string): string {
  if (node === undefined) return text;
  return text.slice(0, node.offset) + replacement + text.slice(node.offset + node.length);
}

/** Takes out a property and one comma, and the line if nothing else stands on it; comments around it stay. */
function removeProperty(text: string, key: string): string {
  const object = findNode(text, monitorPath);
  const properties = object?.children ?? [];
  const index = properties.findIndex((property) => property.children?.[0]?.value === key);
  const property = properties[index];
  if (property === undefined) return text;
  let start = property.offset;
  let end = property.offset + property.length;
  let rest = text;
  const after = commaAfter(text, end);
  const previous = properties[index - 1];
  if (after !== undefined) {
    rest = text.slice(0, after) + text.slice(after + 1);
    end = after === end ? end : Math.min(end, after);
  } else if (previous !== undefined) {
    const comma = commaAfter(text, previous.offset + previous.length);
    if (comma !== undefined) {
      rest = text.slice(0, comma) + text.slice(comma + 1);
      start -= 1;
      end -= 1;
    }
  }
  const lineStart = rest.lastIndexOf("\n", start - 1) + 1;
  const newline = rest.indexOf("\n", end);
  const alone = newline !== -1 && rest.slice(lineStart, start).trim() === "" && rest.slice(end, newline).trim() === "";
  return alone ? rest.slice(0, lineStart) + rest.slice(newline + 1) : rest.slice(0, start) + rest.slice(end);
}

/** jsonc-parser's `SyntaxKind.CommaToken`: its enum is a const enum, which type stripping can't import. */
const commaToken = 5;

function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return scanner.scan() === commaToken ? scanner.getTokenOffset() : undefined;
}

function findNode(text: string, path: readonly string[]): Node | undefined {
  const root = parseTree(text, [], lenient);
  return root === undefined ? undefined : findNodeAtLocation(root, [...path]);
}

function propertyOf(text: string, key: string): Node | undefined {
  return findNode(text, monitorPath)?.children?.find((property) => property.children?.[0]?.value === key);
}

function duplicateKey(text: string): string | undefined {
  for (const path of [[], ["chain"], monitorPath]) {
    const seen = new Set<string>();
    for (const property of findNode(text, path)?.children ?? []) {
      const key = property.children?.[0];
      const name = String(key?.value);
      const relevant = path.length === 2 || name === (path.length === 0 ? "chain" : "monitor_config");
      if (key !== undefined && relevant && seen.has(name)) {
        const { line, column } = positionAt(text, key.offset);
        return `has the key ${[...path, name].join(".")} twice (line ${line}, column ${column}); remove one of the two.`;
      }
      seen.add(name);
    }
  }
  return undefined;
}
