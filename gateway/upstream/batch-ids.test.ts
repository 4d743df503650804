import * as fc from "fast-check";
import { expect, test } from "vitest";
import { BatchIds } from "./batch-ids.ts";

test("a batch's ids are told apart by their texts, whether or not they are numbers that grow", () => {
  const id = fc.oneof(
    fc.nat(20).map(String),
    fc.constantFrom("null", '"1"', '"a"', "01", "1.0", "-1", "1e1", "999999999999999"),
  );
  fc.assert(
    fc.property(fc.array(id, { maxLength: 30 }), (given) => {
      const ids = new BatchIds();
      const known = new Set<string>();
      for (const one of given) {
        expect(ids.has(one)).toBe(known.has(one));
        ids.add(one);
        known.add(one);
      }
    }),
  );
});
