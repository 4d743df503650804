import { isDeepStrictEqual } from "node:util";
import { readJson5Key, findJson5Node } from "#daemon/files/json5-tree.ts";
import type { ConfigDocument, JsonObject } from "./document.ts";
import { removeProperty, renameKey, setValue } from "./editor.ts";
import { applyChanges, type ConfigChange } from "./monitor-change.ts";
import { parseText, type ParsedText } from "./parsed-text.ts";

/** Text after an edit, or the reason why the text was left unchanged. */
type ConfigEditResult = Readonly<{ ok: true; text: string } | { ok: false; message: string }>;

const monitorPath = ["chain", "monitor_config"];

/**
 * Applies changes to `chain.monitor_config` in a JSON text, with or without comments; preserves every other byte. Reparses the result and
 * compares it with the intended value. Rejects the text on a mismatch or a duplicate key.
 */
export function editConfig(document: ConfigDocument, changes: readonly ConfigChange[]): ConfigEditResult {
  const twice = findDuplicateKey(document);
  if (twice !== undefined) return { ok: false, message: twice };
  const after = changes.reduce(applyChange, document as ParsedText | undefined);
  const chain = { ...document.chain, monitor_config: applyChanges(document.chain["monitor_config"], changes) };
  const intended: JsonObject = { ...document.value, chain };
  if (after === undefined || !isDeepStrictEqual(after.value, intended)) {
    return {
      ok: false,
      message: "can't be edited without touching something else; correct chain.monitor_config by hand.",
    };
  }
  return { ok: true, text: after.text };
}

/** Returns the text after a change, reparsed for the next change; undefined once a change fails. */
function applyChange(before: ParsedText | undefined, change: ConfigChange): ParsedText | undefined {
  const text = before === undefined ? undefined : editText(before, change);
  const read = text === undefined ? undefined : parseText(text);
  return read?.ok === true ? read.parsed : undefined;
}

function editText(before: ParsedText, change: ConfigChange): string | undefined {
  switch (change.kind) {
    case "create":
      return setValue(before, monitorPath, change.value);
    case "insert":
    case "set":
      return setValue(before, [...monitorPath, change.key], change.value);
    case "rename":
      return renameKey(before, [...monitorPath, change.key], change.to);
    case "remove":
      return removeProperty(before, [...monitorPath, change.key]);
  }
}

/** Returns an error if a key is duplicated in `chain.monitor_config` or on the path to it: parsers differ in which duplicate they use. */
function findDuplicateKey({ root }: ParsedText): string | undefined {
  for (const path of [[], ["chain"], monitorPath]) {
    const object = findJson5Node(root, path);
    const seen = new Set<string>();
    for (const member of object?.type === "Object" ? object.members : []) {
      const name = readJson5Key(member);
      const relevant = path.length === 2 || name === (path.length === 0 ? "chain" : "monitor_config");
      if (relevant && seen.has(name)) {
        const { line, column } = member.name.loc.start;
        return `has the key ${[...path, name].join(".")} twice (line ${line}, column ${column}); remove one of the two.`;
      }
      seen.add(name);
    }
  }
  return undefined;
}

/**
 * Rewrites a JSON5 document as JSON with the changes, if the settings allow it. No editor exists for JSON5 text, so comments are lost.
 * Rejects numbers that JSON can't represent.
 */
export function rewriteConfig(
  document: ConfigDocument,
  changes: readonly ConfigChange[],
  allowed: "refuse" | "rewrite",
): ConfigEditResult {
  if (allowed === "refuse") {
    const message =
      "is JSON5, which can't be edited in place; write it as JSON (comments may stay), or set upkeep.json5 to rewrite.";
    return { ok: false, message };
  }
  const unsafe = findUnsafeNumber(document.value, []);
  if (unsafe !== undefined) {
    return {
      ok: false,
      message: `has a number at ${unsafe} that would change when rewritten; write the file as JSON.`,
    };
  }
  const chain = { ...document.chain, monitor_config: applyChanges(document.chain["monitor_config"], changes) };
  const eol = document.text.includes("\r\n") ? "\r\n" : "\n";
  const text = JSON.stringify({ ...document.value, chain }, null, 2).replaceAll("\n", eol) + eol;
  return { ok: true, text };
}

function findUnsafeNumber(value: unknown, path: readonly string[]): string | undefined {
  if (typeof value === "number") {
    const kept = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
    return kept ? undefined : path.join(".");
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, child] of Object.entries(value)) {
    const found = findUnsafeNumber(child, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}
