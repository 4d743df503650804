import { expect, test } from "vitest";
import { AnvilRequestError } from "../../anvil/anvil-request.ts";
import { toGethHalt, readHalt, needsSlot, countStackItemsNeeded } from "./evm-halt.ts";

const add = { opcode: 0x01, stackItems: 0 };

test.each([
  ["OutOfGas", "out of gas"],
  ["MemoryOOG", "out of gas"],
  ["out of gas: out of memory", "out of gas"],
  ["InvalidFEOpcode", "invalid opcode: INVALID"],
  ["StackOverflow", "stack limit reached 1024 (1023)"],
  ["Out of stack", "stack limit reached 1024 (1023)"],
  ["InvalidJump", "invalid jump destination"],
  ["Bad jump destination", "invalid jump destination"],
  ["StateChangeDuringStaticCall", "write protection"],
  ["OutOfOffset", "return data out of bounds"],
  ["CreateContractStartingWithEF", "invalid code: must not begin with 0xef"],
  ["Reverted", "execution reverted"],
  ["something new", "something new"],
])("%s is geth's %s", (halt, text) => {
  expect(needsSlot(halt)).toBe(false);
  expect(toGethHalt(halt)).toBe(text);
});

test("underflow and unknown opcodes name the instruction, if it is known", () => {
  expect(needsSlot("StackUnderflow")).toBe(true);
  expect(toGethHalt("StackUnderflow", add)).toBe("stack underflow (0 <=> 2)");
  expect(toGethHalt("StackUnderflow")).toBe("stack underflow");
  expect(toGethHalt("OpcodeNotFound", { opcode: 0x0c, stackItems: 3 })).toBe("invalid opcode: opcode 0xc not defined");
  expect(toGethHalt("Bad instruction")).toBe("invalid opcode");
});

function error(message: string): AnvilRequestError {
  return new AnvilRequestError("eth_call", { code: -32603, message });
}

test("only anvil's EVM errors are halts", () => {
  expect(readHalt(error("EVM error StackUnderflow"))).toBe("StackUnderflow");
  expect(readHalt(error("EVM error OutOfGas(Basic)"))).toBe("OutOfGas");
  expect(readHalt(error("execution reverted"))).toBeUndefined();
  expect(readHalt(new Error("EVM error OutOfGas"))).toBeUndefined();
});

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
  expect(countStackItemsNeeded(opcode)).toBe(items);
});

test("a byte that is not an opcode is reported", () => {
  for (const byte of [0x0c, 0x1e, 0x21, 0x4b, 0xa5, 0xfe])
    expect(() => countStackItemsNeeded(byte)).toThrow(RangeError);
});
