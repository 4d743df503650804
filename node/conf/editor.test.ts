import { expect, test } from "vitest";
import { removeProperty, renameKey, setValue } from "./editor.ts";
import { parseText, type ParsedText } from "./parsed-text.ts";

function parsed(text: string): ParsedText {
  const read = parseText(text);
  if (!read.ok) throw new Error(read.problem.words);
  return read.parsed;
}

test.each([
  [
    "a value, of which nothing else changes",
    '{"a":  1 /* x */, "big": 12345678901234567890}',
    ["a"],
    2,
    '{"a":  2 /* x */, "big": 12345678901234567890}',
  ],
  ["a new key behind the last one", '{"a": 1, "b":2}', ["c"], 3, '{"a": 1, "b":2, "c":3}'],
  ["its own line, with tabs and CRLF", '{\r\n\t"a": 1 // x\r\n}', ["b"], 2, '{\r\n\t"a": 1,\r\n\t"b": 2 // x\r\n}'],
  ["before a trailing comma and a comment", '{\n  "a": 1, // x\n}', ["b"], 2, '{\n  "a": 1,\n  "b": 2, // x\n}'],
  ["into an empty object", '{\n  "a": {}\n}\n', ["a", "b"], 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'],
  ["into an empty object of one line", '{"a":{}}', ["a", "b"], 1, '{"a":{"b": 1}}'],
  ["objects that are missing on the way", '{"a": {"x": 1}}', ["a", "b", "c"], "d", '{"a": {"x": 1, "b": {"c":"d"}}}'],
  ["an object, in the text's style", '{\n\t"a": null\n}', ["a"], { b: 1 }, '{\n\t"a": {\n\t\t"b": 1\n\t}\n}'],
])("sets %s", (_, text, path, value, after) => {
  expect(setValue(parsed(text), path, value)).toBe(after);
});

test("sets nothing in what is not an object", () => {
  expect(setValue(parsed('{"a": null}'), ["a", "b"], 1)).toBeUndefined();
});

test("renames a key and leaves its value as it is written", () => {
  expect(renameKey(parsed('{"a" : 1e2, // a\n}'), ["a"], "b")).toBe('{"b" : 1e2, // a\n}');
  expect(renameKey(parsed('{"a": 1}'), ["b"], "c")).toBeUndefined();
});

test.each([
  ["the first", '{"a": 1, "b": 2}', '{ "b": 2}'],
  ["the only one", '{ "a": 1 }', "{  }"],
  ["one with its own line", '{\n  "a": 1,\n  "b": 2\n}', '{\n  "b": 2\n}'],
  ["one with a comment behind its comma", '{\n  "a": 1, // x\n  "b": 2\n}', '{\n   // x\n  "b": 2\n}'],
  ["one with a comma behind its comment", '{"a": 1 /* , */ , "b": 2}', '{ /* , */  "b": 2}'],
  ["the last, with the comma before it", '{"b": 2 /* , */, "a": 1}', '{"b": 2 /* , */ }'],
  ["the last, which has a comma", '{"b": 2, "a": 1,}', '{"b": 2, }'],
])("removes %s, and one comma", (_, text, after) => {
  expect(removeProperty(parsed(text), ["a"])).toBe(after);
});
