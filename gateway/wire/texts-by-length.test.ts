import { expect, test } from "vitest";
import { TextsByLength } from "./texts-by-length.ts";

test("a text is put together once for each length, and again after too many others", () => {
  const made: number[] = [];
  const texts = new TextsByLength((lengthBytes) => {
    made.push(lengthBytes);
    return `length ${lengthBytes}\xe9`;
  });
  for (const length of [3, 40, 3, 40]) expect(texts.of(length)).toBe(`length ${length}\xe9`);
  expect(made).toEqual([3, 40]);
  for (let length = 100; length < 2_000; length += 1) texts.of(length);
  made.length = 0;
  expect(texts.of(3)).toBe("length 3\xe9");
  expect(made).toEqual([3]);
});
