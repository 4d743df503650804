import { expect, test } from "vitest";
import { stackItemsNeeded } from "./opcode.ts";

test.each([
  ["ADD", 0x01, 2],
  ["ADDMOD", 0x08, 3],
  ["ISZERO", 0x15, 1],
  ["EXTCODECOPY", 0x3c, 4],
  ["BLOCKHASH", 0x40, 1],
  ["SELFBALANCE", 0x47, 0],
  ["BLOBHASH", 0x49, 1],
  ["MCOPY", 0x5e, 3],
  ["PUSH32", 0x7f, 0],
  ["DUP1", 0x80, 1],
  ["DUP16", 0x8f, 16],
  ["SWAP1", 0x90, 2],
  ["SWAP16", 0x9f, 17],
  ["LOG0", 0xa0, 2],
  ["LOG4", 0xa4, 6],
  ["CALL", 0xf1, 7],
  ["CREATE2", 0xf5, 4],
  ["SELFDESTRUCT", 0xff, 1],
])("%s needs its items on the stack", (_, opcode, items) => {
  expect(stackItemsNeeded(opcode)).toBe(items);
});

test("a byte that is no opcode is told", () => {
  for (const byte of [0x0c, 0x1e, 0x21, 0x4b, 0xa5, 0xfe]) expect(() => stackItemsNeeded(byte)).toThrow(RangeError);
});
