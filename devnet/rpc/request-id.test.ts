import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readIds } from "./request-id.ts";

function idOf(text: string): string | undefined {
  return readIds(text, [JSON.parse(text)])[0];
}

test("numbers come back digit for digit, whatever their size", () => {
  fc.assert(
    fc.property(fc.bigInt(), (id) => {
      expect(idOf(`{"method":"x","id":${id}}`)).toBe(String(id));
    }),
  );
});

test("text comes back as the same text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (id) => {
      expect(JSON.parse(idOf(JSON.stringify({ id })) ?? "")).toBe(id);
    }),
  );
});

test("in a batch each request has its own id", () => {
  const text = '[{"id":9007199254740993},{"id":1},5,{"id":1e400},{}]';
  expect(readIds(text, JSON.parse(text) as unknown[])).toEqual([
    "9007199254740993",
    "1",
    undefined,
    "1e400",
    undefined,
  ]);
});

test("of two ids the last one counts, as in JSON.parse", () => {
  expect(idOf('{"id":9007199254740993,"id":9007199254740995}')).toBe("9007199254740995");
});

test("an id inside the parameters is not the request's", () => {
  expect(idOf('{"params":[{"id":9007199254740993}],"id":9007199254740995}')).toBe("9007199254740995");
});

test("objects, arrays and truth values are no ids; null is one", () => {
  for (const id of ["{}", "[]", "true"]) expect(idOf(`{"id":${id}}`)).toBeUndefined();
  expect(idOf('{"id":null}')).toBe("null");
});
