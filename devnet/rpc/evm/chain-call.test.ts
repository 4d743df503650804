import { encodeErrorResult, parseAbi, stringToHex } from "viem";
import { expect, test } from "vitest";
import { formatRevert } from "./chain-call.ts";

const abi = parseAbi(["error Error(string)", "error Panic(uint256)", "error Own(uint256 amount)"]);

function text(reason: string): Promise<string> {
  return formatRevert(encodeErrorResult({ abi, errorName: "Error", args: [reason] }));
}

function panic(code: bigint): Promise<string> {
  return formatRevert(encodeErrorResult({ abi, errorName: "Panic", args: [code] }));
}

test("Solidity's own errors give their reason, in geth's words", async () => {
  expect(await text("no funds")).toBe("execution reverted: no funds");
  expect(await text("")).toBe("execution reverted: ");
  expect(await panic(0x11n)).toBe("execution reverted: arithmetic underflow or overflow");
  expect(await panic(0x0n)).toBe("execution reverted: generic panic");
  expect(await panic(0x99n)).toBe("execution reverted: unknown panic code: 0x99");
});

test.each([
  ["nothing", "0x"],
  ["a contract's own error", encodeErrorResult({ abi, errorName: "Own", args: [5n] })],
  ["text", stringToHex("plain text")],
  ["a word of zeros", `0x${"00".repeat(32)}`],
  ["a selector without its reason", "0x08c379a0"],
] as const)("%s has no reason", async (_, data) => {
  expect(await formatRevert(data)).toBe("execution reverted");
});
