import { expect, test } from "vitest";
import { AnvilRequestError } from "../anvil/anvil-request.ts";
import { gethHalt, haltOf, needsPlace } from "./evm-halt.ts";

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
  expect(needsPlace(halt)).toBe(false);
  expect(gethHalt(halt)).toBe(text);
});

test("underflow and unknown opcodes name the instruction, if it is known", () => {
  expect(needsPlace("StackUnderflow")).toBe(true);
  expect(gethHalt("StackUnderflow", add)).toBe("stack underflow (0 <=> 2)");
  expect(gethHalt("StackUnderflow")).toBe("stack underflow");
  expect(gethHalt("OpcodeNotFound", { opcode: 0x0c, stackItems: 3 })).toBe("invalid opcode: opcode 0xc not defined");
  expect(gethHalt("Bad instruction")).toBe("invalid opcode");
});

function error(message: string): AnvilRequestError {
  return new AnvilRequestError("eth_call", { code: -32603, message });
}

test("only anvil's EVM errors are halts", () => {
  expect(haltOf(error("EVM error StackUnderflow"))).toBe("StackUnderflow");
  expect(haltOf(error("EVM error OutOfGas(Basic)"))).toBe("OutOfGas");
  expect(haltOf(error("execution reverted"))).toBeUndefined();
  expect(haltOf(new Error("EVM error OutOfGas"))).toBeUndefined();
});
