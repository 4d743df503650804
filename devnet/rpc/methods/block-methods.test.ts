import { expect, test } from "vitest";
import { formatBlock, formatReceipt, formatTransaction } from "./block-methods.ts";

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

test("a receipt keeps what is of blobs only where there are blobs", () => {
  const receipt = { type: "0x2", status: "0x1", blobGasPrice: "0x1", blockTimestamp: 1_795_347_162 };
  expect(formatReceipt(receipt)).toEqual({ type: "0x2", status: "0x1" });
  expect(formatReceipt({ ...receipt, type: "0x3", blobGasUsed: "0x20000" })).toEqual({
    type: "0x3",
    status: "0x1",
    blobGasPrice: "0x1",
    blobGasUsed: "0x20000",
  });
});

test("a transaction that waits has no time", () => {
  expect(formatTransaction({ blockHash: null })).toEqual({ blockHash: null, blockTimestamp: null });
  expect(formatTransaction({ blockTimestamp: "0x5" })).toEqual({ blockTimestamp: "0x5" });
});
