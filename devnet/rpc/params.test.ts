import { expect, test } from "vitest";
import { z } from "zod";
import { address, blockId, blockNumberOrTag, quantity, readParams, stateBlock } from "./params.ts";
import { RpcError } from "./rpc-error.ts";

const account = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const word = `0x${"ab".repeat(32)}`;

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof RpcError) return `${error.code} ${error.message}`;
    throw error;
  }
  return "accepted";
}

test("what is missing, too much or wrong is named by its index", () => {
  expect(refusal(() => readParams([address, stateBlock], [account]))).toBe(
    "-32602 missing value for required argument 1",
  );
  expect(refusal(() => readParams([address], [account, 1]))).toBe("-32602 too many arguments, want at most 1");
  expect(refusal(() => readParams([address], ["0x12"]))).toBe(
    "-32602 invalid argument 0: expected an address (0x and 40 hexadecimal digits)",
  );
});

test("null is absent where a parameter may be absent", () => {
  expect(readParams([z.string().optional()], [null])).toEqual([undefined]);
});

test.each(["0x0", "0x1", "0xff", "latest", "earliest", "pending", "safe", "finalized"])("%s is a block", (block) => {
  expect(readParams([blockNumberOrTag], [block])).toEqual([block]);
  expect(readParams([stateBlock], [block])).toEqual([block]);
  expect(readParams([blockId], [block])).toEqual([block]);
});

test.each(["0x", "0x01", "1", 1, "newest", "LATEST", [], {}, `0x${"1".repeat(65)}`])("%j is not a block", (block) => {
  expect(refusal(() => readParams([blockNumberOrTag], [block]))).toContain(
    "-32602 invalid argument 0: expected a block",
  );
  expect(refusal(() => readParams([stateBlock], [block]))).toContain("-32602 invalid argument 0: expected a block");
});

test("state may be requested by hash, as EIP-1898 has it", () => {
  expect(readParams([stateBlock], [{ blockHash: word, requireCanonical: true }])).toEqual([
    { blockHash: word, requireCanonical: true },
  ]);
  expect(readParams([stateBlock], [{ blockNumber: "0x1" }])).toEqual([{ blockNumber: "0x1" }]);
});

test("a quantity has no leading zeros", () => {
  expect(refusal(() => readParams([quantity], ["0x00"]))).toContain("without leading zeros");
});
