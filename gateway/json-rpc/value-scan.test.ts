import { describe, expect, it } from "vitest";
import { createUnlimitedBudget, notJson, skipValue } from "./json-scanner.ts";
import { ValueScan } from "./value-scan.ts";

const values = [
  '{"a":[1,-2.5e+3,true,false,null,"x\\"y\\u00e9",{}],"b":{"c":[]},"":""}',
  ' [ 1 , { "a" : "b" } , [ ] ]'.trim(),
  '"plain"',
  "17",
  "[[[[1]]]]",
  `"${"x".repeat(1_000)}"`,
];
const brokenTexts = [
  "",
  "{",
  "[1,",
  '{"a"}',
  '{"a":}',
  "[1 2]",
  "[1}",
  '{"a":1]',
  '"x',
  '"\\x"',
  '"\u0001"',
  "[,1]",
  "[1,]",
  '{"a":1,}',
  "nul",
  "[[[[[[1]]]]]]",
];
const depth = 5;

function scanOf(text: string): ValueScan {
  const scan = new ValueScan(Buffer.from(text), depth);
  scan.begin(0);
  return scan;
}

function scanned(text: string, stepBytes: number): number {
  const scan = scanOf(text);
  for (;;) {
    const end = scan.step(stepBytes);
    if (end !== undefined) return end;
  }
}

describe.each([1, 2, 3, 7, 64, 1e6])("a value scanned %i bytes at a time", (stepBytes) => {
  it("ends where the scanner ends, and fails where the scanner fails", () => {
    for (const text of [...values, ...brokenTexts]) {
      for (const after of ["", ",1", "]", " "]) {
        const whole = text + after;
        const expected = skipValue(Buffer.from(whole), 0, depth, createUnlimitedBudget());
        expect([whole, scanned(whole, stepBytes)]).toEqual([whole, expected]);
      }
    }
    for (const text of values) expect(scanned(text, stepBytes)).toBe(text.length);
    for (const text of brokenTexts) expect(scanned(text, stepBytes)).toBe(notJson);
  });
});

it("a step through a long string or many values never exceeds the step limit", () => {
  const texts = [`"${"x".repeat(1e6)}"`, `[${"1,".repeat(5e5)}1]`, `[${'"a\\n",'.repeat(1e5)}1]`];
  for (const text of texts) {
    const scan = scanOf(text);
    let steps = 0;
    for (let position = 0; scan.step(10_000) === undefined; position = scan.at) {
      expect(scan.at - position).toBeLessThan(10_100);
      steps += 1;
    }
    expect(scan.at).toBe(text.length);
    expect(steps).toBeGreaterThan(text.length / 10_100 - 1);
  }
});
