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
    "a value and preserves every other byte",
    '{"a":  1 /* x */, "big": 12345678901234567890}',
    ["a"],
    2,
    '{"a":  2 /* x */, "big": 12345678901234567890}',
  ],
  ["a new key after the last one", '{"a": 1, "b":2}', ["c"], 3, '{"a": 1, "b":2, "c":3}'],
  [
    "a new key on its own line, with tabs and CRLF",
    '{\r\n\t"a": 1 // x\r\n}',
    ["b"],
    2,
    '{\r\n\t"a": 1,\r\n\t"b": 2 // x\r\n}',
  ],
  [
    "a new key before a trailing comma and a comment",
    '{\n  "a": 1, // x\n}',
    ["b"],
    2,
    '{\n  "a": 1,\n  "b": 2, // x\n}',
  ],
  ["a key in an empty object", '{\n  "a": {}\n}\n', ["a", "b"], 1, '{\n  "a": {\n    "b": 1\n  }\n}\n'],
  ["a key in an empty single-line object", '{"a":{}}', ["a", "b"], 1, '{"a":{"b": 1}}'],
  ["a key and its missing parent objects", '{"a": {"x": 1}}', ["a", "b", "c"], "d", '{"a": {"x": 1, "b": {"c":"d"}}}'],
  ["an object, indented like the text", '{\n\t"a": null\n}', ["a"], { b: 1 }, '{\n\t"a": {\n\t\t"b": 1\n\t}\n}'],
])("sets %s", (_, text, path, value, after) => {
  expect(setValue(parsed(text), path, value)).toBe(after);
});

test("returns undefined if the parent is not an object", () => {
  expect(setValue(parsed('{"a": null}'), ["a", "b"], 1)).toBeUndefined();
});

test("renames a key and preserves the formatting of its value", () => {
  expect(renameKey(parsed('{"a" : 1e2, // a\n}'), ["a"], "b")).toBe('{"b" : 1e2, // a\n}');
  expect(renameKey(parsed('{"a": 1}'), ["b"], "c")).toBeUndefined();
});

test.each([
  ["the first property", '{"a": 1, "b": 2}', '{ "b": 2}'],
  ["the only property", '{ "a": 1 }', "{  }"],
  ["a property on its own line", '{\n  "a": 1,\n  "b": 2\n}', '{\n  "b": 2\n}'],
  ["a property with a comment after its comma", '{\n  "a": 1, // x\n  "b": 2\n}', '{\n   // x\n  "b": 2\n}'],
  ["a property with a comma after its comment", '{"a": 1 /* , */ , "b": 2}', '{ /* , */  "b": 2}'],
  ["the last property without a trailing comma", '{"b": 2 /* , */, "a": 1}', '{"b": 2 /* , */ }'],
  ["the last property with a trailing comma", '{"b": 2, "a": 1,}', '{"b": 2, }'],
])("removes %s and one comma", (_, text, after) => {
  expect(removeProperty(parsed(text), ["a"])).toBe(after);
});
