import * as fc from "fast-check";
import { expect, test } from "vitest";
import { listComments, parseText, type ParsedText } from "./parsed-text.ts";
import { measureCpuMs } from "#daemon/testing/thread-cpu.ts";

function parsed(text: string): ParsedText {
  const read = parseText(text);
  if (!read.ok) throw new Error(read.problem.words);
  return read.parsed;
}

/** Describes the problem of a text as `reason line:column words`. */
function problemOf(text: string): string | undefined {
  const read = parseText(text);
  if (read.ok) return undefined;
  const { reason, line, column, words } = read.problem;
  return `${reason} ${line}:${column} ${words}`;
}

test("parses JSON like JSON.parse, with positions that span the text", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 2, "\t"), fc.constantFrom("\n", "\r\n"), (json, indent, eol) => {
      const text = JSON.stringify(JSON.parse(json), null, indent).replaceAll("\n", eol);
      const { format, value, root } = parsed(text);
      expect(format).toBe("json");
      expect(value).toEqual(JSON.parse(text));
      expect([root?.loc.start.offset, root?.loc.end.offset]).toEqual([0, text.length]);
    }),
    { numRuns: 500 },
  );
});

test("returns the same values and positions with comments and trailing commas", () => {
  const blanks = fc.constantFrom("/* a */", "// b\n", "// b\r\n", "/**/", "/* \r\n */", " ", "\n");
  fc.assert(
    fc.property(fc.json(), blanks, blanks, (json, before, after) => {
      const { format, value, root } = parsed(`${before}[${before}${json}${after},]${after}`);
      expect(format).toBe("jsonc");
      expect(value).toEqual([JSON.parse(json)]);
      const element = root?.type === "Array" ? root.elements[0] : undefined;
      expect(element?.loc.start.offset).toBe(2 * before.length + 1);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["a line break in a string", '{"a": "x\n",}', "Truncated 2:1 invalid character '\\n'"],
  ["an unfinished string", '{"a": "x', "Truncated 1:9 invalid end of input"],
  ["an unfinished comment", '{"a": 1} /* x', "Truncated 1:14 invalid end of input"],
  ["an empty text", "", "Truncated 1:1 invalid end of input"],
  ["two commas", '{"a": 1,,}', "Truncated 1:9 invalid character ','"],
  ["101 nested brackets", "[".repeat(101), "TooDeep 1:101 nested more than 100 levels deep"],
  ["5,000 nested brackets", `${"[".repeat(5_000)}${"]".repeat(5_000)}`, "TooDeep 1:101"],
  ["5,000 nested brackets after a comment", `//\n${"[".repeat(5_000)}${"]".repeat(5_000)}`, "TooDeep 2:101"],
  ["5,000 nested brackets in JSON5", `{a:${"[".repeat(5_000)}${"]".repeat(5_000)}}`, "TooDeep 1:103"],
  [
    "5,000 nested brackets in JSON5 with a reserved word as a key",
    `{true:${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
    "TooDeep 1:106",
  ],
  ["5,000 nested brackets in a duplicate key", `{"a":${"[".repeat(5_000)}${"]".repeat(5_000)},"a":1}`, "TooDeep 1:105"],
])("reports the position of the error in %s", (_, text, problem) => {
  expect(problemOf(text)).toContain(problem);
});

test("does not count brackets in strings and comments as nesting", () => {
  const brackets = "[{".repeat(100);
  expect(problemOf(`{"a": "${brackets}\\"${brackets}"}`)).toBeUndefined();
  expect(problemOf(`{"a": 1, // ${brackets}\n/* ${brackets} */}`)).toBeUndefined();
});

test("lists 40,000 comments and reports the right line after them", () => {
  const text = `${"//\n/**/".repeat(20_000)}{"a": 1}`;
  const { format, root } = parsed(text);
  expect([format, root?.loc.start.line]).toEqual(["jsonc", 20_001]);
  expect(listComments(parsed(text))).toHaveLength(40_000);
});

test("treats __proto__ as an ordinary key in all three formats", () => {
  for (const text of ['{"__proto__": {"a": 1}}', '{"__proto__": {"a": 1},}', "{__proto__: {a: 1}}"]) {
    const { value } = parsed(text);
    expect(Object.entries(value as object), text).toEqual([["__proto__", { a: 1 }]]);
  }
});

test.each([
  ["an unquoted key", "{a: 1}", { a: 1 }, true],
  ["a sign before a decimal point", "{a: +.5}", { a: 0.5 }, false],
  ["a reserved word as a key", "{true: 1}", { true: 1 }, false],
  ["a comment that ends at U+2028", "{// x\u2028 a: 1}", { a: 1 }, false],
])("parses JSON5 with %s", (_, text, value, hasPlaces) => {
  const read = parsed(text);
  expect([read.format, read.value, read.root !== undefined]).toEqual(["json5", value, hasPlaces]);
});

test("parses 1 MiB within 20 seconds", () => {
  const lines = Array.from({ length: 25_000 }, (_, index) => `"key ${index}": "a value of some length"`);
  const text = `{ // words\n${lines.join(",\n")}\n}`;
  const check = () => expect(Object.keys(parsed(text).value as object)).toHaveLength(25_000);
  expect(measureCpuMs(check)).toBeLessThan(20_000);
});
