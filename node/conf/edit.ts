import { isDeepStrictEqual } from "node:util";
import { json5Key, json5NodeAt } from "#daemon/files/json5-tree.ts";
import type { ConfigDocument, JsonObject } from "./document.ts";
import { removeProperty, renameKey, setValue } from "./editor.ts";
import { changedValue, type ConfigChange } from "./monitor-change.ts";
import { parseText, type ParsedText } from "./parsed-text.ts";

/** The text after an edit, or why the text was left alone. */
export type ConfigEditResult = Readonly<{ ok: true; text: string } | { ok: false; message: string }>;

const monitorPath = ["chain", "monitor_config"];

/**
 * Makes changes of `chain.monitor_config` in a text of JSON or JSON with comments; every other byte stays. The result is read
 * again and compared with what was meant; when it is anything else, or a key stands twice, the text is refused.
 */
export function editConfig(document: ConfigDocument, changes: readonly ConfigChange[]): ConfigEditResult {
  const twice = duplicateKey(document);
  if (twice !== undefined) return { ok: false, message: twice };
  const after = changes.reduce(applyChange, document as ParsedText | undefined);
  const chain = { ...document.chain, monitor_config: changedValue(document.chain["monitor_config"], changes) };
  const intended: JsonObject = { ...document.value, chain };
  if (after === undefined || !isDeepStrictEqual(after.value, intended)) {
    return {
      ok: false,
      message: "can't be edited without touching something else; correct chain.monitor_config by hand.",
    };
  }
  return { ok: true, text: after.text };
}

/** The text after a change, read again for the next one; undefined once a change can't be made. */
function applyChange(before: ParsedText | undefined, change: ConfigChange): ParsedText | undefined {
  const text = before === undefined ? undefined : changedText(before, change);
  const read = text === undefined ? undefined : parseText(text);
  return read?.ok === true ? read.parsed : undefined;
}

function changedText(before: ParsedText, change: ConfigChange): string | undefined {
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

/** A key on the way to `chain.monitor_config`, or in it, that stands twice: readers differ in which one counts. */
function duplicateKey({ root }: ParsedText): string | undefined {
  for (const path of [[], ["chain"], monitorPath]) {
    const object = json5NodeAt(root, path);
    const seen = new Set<string>();
    for (const member of object?.type === "Object" ? object.members : []) {
      const name = json5Key(member);
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
