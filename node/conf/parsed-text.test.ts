import * as fc from "fast-check";
import { expect, test } from "vitest";
import { listComments, parseText, type ParsedText } from "./parsed-text.ts";

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

test("of JSON, value and places agree with JSON.parse", () => {
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

test("comments and trailing commas change the format, and neither value nor places", () => {
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
  ["nothing", "", "Truncated 1:1 invalid end of input"],
  ["two commas", '{"a": 1,,}', "Truncated 1:9 invalid character ','"],
  ["brackets by the hundred", "[".repeat(101), "TooDeep 1:101 nested more than 100 levels deep"],
  ["brackets by the thousand", `${"[".repeat(5_000)}${"]".repeat(5_000)}`, "TooDeep 1:101"],
  ["as many behind comments", `//\n${"[".repeat(5_000)}${"]".repeat(5_000)}`, "TooDeep 2:101"],
  ["as many in JSON5", `{a:${"[".repeat(5_000)}${"]".repeat(5_000)}}`, "TooDeep 1:103"],
  ["as many in JSON5 of a rare form", `{true:${"[".repeat(5_000)}${"]".repeat(5_000)}}`, "TooDeep 1:106"],
  ["as many behind a key that stands twice", `{"a":${"[".repeat(5_000)}${"]".repeat(5_000)},"a":1}`, "TooDeep 1:105"],
])("%s: the problem has its place", (_, text, problem) => {
  expect(problemOf(text)).toContain(problem);
});

test("brackets in strings and comments are no levels", () => {
  const brackets = "[{".repeat(100);
  expect(problemOf(`{"a": "${brackets}\\"${brackets}"}`)).toBeUndefined();
  expect(problemOf(`{"a": 1, // ${brackets}\n/* ${brackets} */}`)).toBeUndefined();
});

test("comments by the thousand are read, each with its place", () => {
  const text = `${"//\n/**/".repeat(20_000)}{"a": 1}`;
  const { format, root } = parsed(text);
  expect([format, root?.loc.start.line]).toEqual(["jsonc", 20_001]);
  expect(listComments(parsed(text))).toHaveLength(40_000);
});

test("__proto__ is a key like any other, in all three formats", () => {
  for (const text of ['{"__proto__": {"a": 1}}', '{"__proto__": {"a": 1},}', "{__proto__: {a: 1}}"]) {
    const { value } = parsed(text);
    expect(Object.entries(value as object), text).toEqual([["__proto__", { a: 1 }]]);
  }
});

test.each([
  ["an unquoted key", "{a: 1}", { a: 1 }, true],
  ["a sign before a point", "{a: +.5}", { a: 0.5 }, false],
  ["a key that is a word of the language", "{true: 1}", { true: 1 }, false],
  ["a comment that ends at U+2028", "{// x\u2028 a: 1}", { a: 1 }, false],
])("JSON5 with %s has its value, and places: see the last column", (_, text, value, hasPlaces) => {
  const read = parsed(text);
  expect([read.format, read.value, read.root !== undefined]).toEqual(["json5", value, hasPlaces]);
});

test("a text of 1 MiB is read within seconds", () => {
  const lines = Array.from({ length: 25_000 }, (_, index) => `"key ${index}": "a value of some length"`);
  const text = `{ // words\n${lines.join(",\n")}\n}`;
  const started = performance.now();
  expect(Object.keys(parsed(text).value as object)).toHaveLength(25_000);
  expect(performance.now() - started).toBeLessThan(20_000);
});
