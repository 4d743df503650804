import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findElement } from "./read-object.ts";

describe("an array element", () => {
  it("is the JSON text at its index, whatever surrounds or pads it", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), fc.constantFrom(0, 1, 3), (values, indent) => {
        const array = Buffer.from(JSON.stringify(values, undefined, indent)).toString("latin1");
        const found = values.map((_, index) => {
          const element = findElement(array, index);
          return element === undefined ? undefined : JSON.parse(Buffer.from(element, "latin1").toString());
        });
        expect(found).toEqual(JSON.parse(JSON.stringify(values)));
        expect(findElement(array, values.length)).toBe(undefined);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is not confused by a lookalike in a string", () => {
    expect(findElement(String.raw` [ "a\\\",]" , {"b":["],"]} , "latest" ] `, 2)).toBe('"latest"');
    expect(findElement(String.raw`["\\","pending"]`, 1)).toBe('"pending"');
    expect(findElement("[]", 0)).toBe(undefined);
  });
});
