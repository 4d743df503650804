import { expect, test } from "vitest";
import { parseConfig } from "#node/conf/document.ts";
import { upkeepSection } from "../../settings/upkeep.ts";
import { measureCpuMs } from "#daemon/testing/thread-cpu.ts";

/** Max time that any node.conf may block the thread; allows for a busy machine. */
const maxMs = 500;
const { configLimitBytes } = upkeepSection.parse({});

/** A text of the maximum size: one numbered piece, repeated. */
function filled(before: string, piece: (at: number) => string, after: string): string {
  const pieces: string[] = [];
  let bytes = before.length + after.length;
  for (let at = 0; ; at += 1) {
    const next = piece(at);
    bytes += next.length;
    if (bytes > configLimitBytes) return before + pieces.join("") + after;
    pieces.push(next);
  }
}

const configTexts: Readonly<Record<string, string>> = {
  "empty lists": filled('{"a":[', () => "[],", "[]]}"),
  "empty objects": filled('{"a":[', () => "{},", "{}]}"),
  numbers: filled('{"a":[', () => "0,", "0]}"),
  "numbers in JSON with comments": filled('{"a":[', () => "0,", "0],}"),
  "numbers in JSON5": filled("{a:[", () => "0,", "+.5,]}"),
  "JSON5 keys": filled("{", (at) => `a${at.toString(36)}:0,`, "}"),
  keys: filled('{"a":0', (at) => `,"${at.toString(36)}":0`, "}"),
  commas: filled("[", () => ",", "]"),
  brackets: filled("", () => "[", ""),
  comments: filled("{", () => "/**/", "}"),
  escapes: filled('{"a":"', () => String.raw`\u0000`, '"}'),
};

test.each(Object.entries(configTexts))("reads a node.conf of %s at the size limit within half a second", (_, text) => {
  const bytes = Buffer.from(text);
  expect(bytes.length).toBeGreaterThan(configLimitBytes - 16);
  parseConfig(bytes);
  expect(measureCpuMs(() => parseConfig(bytes))).toBeLessThan(maxMs);
});
