import { expect, test } from "vitest";
import { parseConfig } from "./document.ts";
import { parseNodeVersion } from "../versions.ts";
import { isSameMeaning, meaningOf } from "./meaning.ts";

/** Whether a node has to be restarted when the one text replaces the other. */
function matters(before: string, after: string, version = "0.16.2"): boolean {
  const [one = "", other = ""] = [before, after].map((text) => {
    const parsed = parseConfig(Buffer.from(text));
    if (!parsed.ok) throw new Error(parsed.problem.message);
    return meaningOf(parsed.document);
  });
  return !isSameMeaning(one, other, parseNodeVersion(version));
}

const config =
  '{"chain":{"monitor_config":{"storage_cetina_push_port":1,"own":2},"a":[1,2]},"big":12345678901234567890}';

test.each([
  ["comments and blanks", "// words\n{ ", "{"],
  ["the order of keys", '"storage_cetina_push_port":1,"own":2', '"own":2,"storage_cetina_push_port":1'],
  ["a trailing comma", "[1,2]", "[1,2,]"],
  ["how a string is escaped", '"own"', '"\\u006fwn"'],
  ["keys of another version", '"own":2', '"own":2,"enable_pamir_cetina":true'],
])("%s mean nothing to the node", (_, to, from) => {
  expect(matters(config, config.replace(from, to))).toBe(false);
  expect(matters(config, config.replace(to, from))).toBe(false);
});

test.each([
  ["a value", '_port":1', '_port":2'],
  ["a number beyond 2^53 by its last digit", "12345678901234567890", "12345678901234567891"],
  ["the order of a list", "[1,2]", "[2,1]"],
  ["a key that nobody knows", '"own":2', '"own":3'],
  ["a key that is gone", ',"own":2', ""],
  ["which of two equal keys comes last", '"a":[1,2]', '"a":[3],"a":[1,2]'],
])("%s matters", (_, from, to) => {
  expect(matters(config, config.replace(from, to))).toBe(true);
});

test("which names count depends on the version; of an unknown one all do", () => {
  const other = config.replace('"own":2', '"own":2,"pamir_cetina_push_port":3');
  expect(matters(config, other, "0.16.0")).toBe(false);
  expect(matters(config, other, "0.15.0")).toBe(true);
  expect(matters(config, other, "unknown")).toBe(true);
});
