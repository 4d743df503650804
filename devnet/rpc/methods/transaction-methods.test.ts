import { expect, test } from "vitest";
import { formatReceipt, formatTransaction } from "./transaction-methods.ts";

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
