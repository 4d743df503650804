import type { ConfigDocument } from "./document.ts";
import { changedValue, type ConfigChange } from "./monitor-change.ts";
import type { ConfigEditResult } from "./edit.ts";

/**
 * Writes a JSON5 document anew as JSON with the changes, if the settings allow it. Editors for JSON5 text do not exist, and its
 * comments can't be kept; numbers that JSON can't hold are refused.
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
  const unsafe = unsafeNumber(document.value, []);
  if (unsafe !== undefined) {
    return {
      ok: false,
      message: `has a number at ${unsafe} that would change when rewritten; write the file as JSON.`,
    };
  }
  const chain = { ...document.chain, monitor_config: changedValue(document.chain["monitor_config"], changes) };
  const eol = document.text.includes("\r\n") ? "\r\n" : "\n";
  const text = JSON.stringify({ ...document.value, chain }, null, 2).replaceAll("\n", eol) + eol;
  return { ok: true, text };
}

function unsafeNumber(value: unknown, path: readonly string[]): string | undefined {
  if (typeof value === "number") {
    const kept = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
    return kept ? undefined : path.join(".");
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, child] of Object.entries(value)) {
    const found = unsafeNumber(child, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}
