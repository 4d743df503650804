import { isDeepStrictEqual } from "node:util";
import { readJson5Key, findJson5Node } from "#daemon/files/json5-tree.ts";
import { hasOnlyAsciiOutsideComments } from "./config-text.ts";
import type { ConfigDocument, JsonObject } from "./document.ts";
import { removeProperty, renameKey, setValue } from "./editor.ts";
import { applyChanges, type ConfigChange } from "./monitor-change.ts";
import { parseText, type ParsedText } from "./parsed-text.ts";

/** Text after an edit, or the reason why the text was left unchanged. */
type ConfigEditResult = Readonly<{ ok: true; text: string } | { ok: false; message: string }>;

const monitorPath = ["chain", "monitor_config"];

/**
 * Applies changes to `chain.monitor_config` in a JSON text, with or without comments; preserves every other byte. Reparses the result and
 * compares it with the intended value. Rejects the text on a mismatch, a duplicate key or JSON5.
 */
export function editConfig(document: ConfigDocument, changes: readonly ConfigChange[]): ConfigEditResult {
  if (document.format === "json5") {
    return { ok: false, message: "is JSON5, which can't be edited in place; write it as JSON (comments may stay)." };
  }
  const twice = findDuplicateKey(document);
  if (twice !== undefined) return { ok: false, message: twice };
  const after = changes.reduce(applyChange, document as ParsedText | undefined);
  const chain = { ...document.chain, monitor_config: applyChanges(document.chain["monitor_config"], changes) };
  const intended: JsonObject = { ...document.value, chain };
  if (after === undefined || !isDeepStrictEqual(after.value, intended)) {
    return {
      ok: false,
      message: "can't be edited without changing other content; correct chain.monitor_config manually.",
    };
  }
  if (document.encoding === "latin1" && !hasOnlyAsciiOutsideComments(after)) {
    const message =
      "has comments that are not UTF-8, so that only ASCII values can be written; `iconv -f latin1 -t utf8` converts it.";
    return { ok: false, message };
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
