import { expect, test } from "vitest";
import { formatBlock } from "./block-methods.ts";

test.each([
  [582, 583],
  // Content of 255 bytes, whose length fits in one byte, becomes 256.
  [257, 259],
  [65_538, 65_540],
  [16_777_219, 16_777_221],
])("a block of %i bytes without its withdrawals has %i with them", (before, after) => {
  const block = { size: `0x${before.toString(16)}` as const, transactions: [], totalDifficulty: "0x0" };
  expect(formatBlock(block)).toEqual({ size: `0x${after.toString(16)}`, transactions: [] });
});
