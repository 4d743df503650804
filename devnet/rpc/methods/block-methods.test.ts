import { expect, test } from "vitest";
import { wireBlock, wireReceipt, wireTransaction } from "./block-methods.ts";

test.each([
  [582, 583],
  // Content of 255 bytes, whose length fits in one byte, becomes 256.
  [257, 259],
  [65_538, 65_540],
  [16_777_219, 16_777_221],
])("a block of %i bytes without its withdrawals has %i with them", (before, after) => {
  const block = { size: `0x${before.toString(16)}` as const, transactions: [], totalDifficulty: "0x0" };
  expect(wireBlock(block)).toEqual({ size: `0x${after.toString(16)}`, transactions: [] });
});

test("a receipt keeps what is of blobs only where there are blobs", () => {
  const receipt = { type: "0x2", status: "0x1", blobGasPrice: "0x1", blockTimestamp: 1_795_347_162 };
  expect(wireReceipt(receipt)).toEqual({ type: "0x2", status: "0x1" });
  expect(wireReceipt({ ...receipt, type: "0x3", blobGasUsed: "0x20000" })).toEqual({
    type: "0x3",
    status: "0x1",
    blobGasPrice: "0x1",
    blobGasUsed: "0x20000",
  });
});

test("a transaction that waits has no time", () => {
  expect(wireTransaction({ blockHash: null })).toEqual({ blockHash: null, blockTimestamp: null });
  expect(wireTransaction({ blockTimestamp: "0x5" })).toEqual({ blockTimestamp: "0x5" });
});
