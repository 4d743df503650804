import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createUnlimitedBudget, notJson, skipSpace, skipValue } from "./json-scanner.ts";

function accepts(text: string): boolean {
  const bytes = Buffer.from(text);
  const end = skipValue(bytes, skipSpace(bytes, 0), 64, createUnlimitedBudget());
  return end !== notJson && skipSpace(bytes, end) === bytes.length;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("skipValue", () => {
  it("accepts exactly what JSON.parse accepts", () => {
    const piece = fc.constantFrom(
      ...'{}[],:"\\-+.eE0123456789truefalsn \t\n\u0000\u007f\u00ff'.split(""),
      "true",
      "null",
      '"a"',
    );
    const text = fc.oneof(
      fc.json({ maxDepth: 5 }),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
    );
    fc.assert(
      fc.property(text, (json) => {
        expect(accepts(json)).toBe(parses(json));
      }),
      { numRuns: 5_000 },
    );
  });

  it("accepts a corrupted valid text exactly when JSON.parse does", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat(255), (json, position, code) => {
        const at = position % (json.length + 1);
        const brokenJson = json.slice(0, at) + String.fromCharCode(code) + json.slice(at + 1);
        expect(accepts(brokenJson)).toBe(parses(brokenJson));
      }),
      { numRuns: 5_000 },
    );
  });

  it("rejects nesting beyond the limit without a stack overflow", () => {
    expect(accepts("[".repeat(64) + "]".repeat(64))).toBe(true);
    expect(accepts("[".repeat(65) + "]".repeat(65))).toBe(false);
    expect(accepts("[".repeat(5_000_000))).toBe(false);
    expect(accepts('{"a":'.repeat(1_000_000))).toBe(false);
  });
});
