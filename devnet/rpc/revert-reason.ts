import type { Hex } from "viem";

/** What Solidity reverts with by itself. */
const solidityErrors = [
  { type: "error", name: "Error", inputs: [{ name: "reason", type: "string" }] },
  { type: "error", name: "Panic", inputs: [{ name: "code", type: "uint256" }] },
] as const;

/** Geth's words for Solidity's panic codes. */
const panics: Readonly<Record<string, string>> = {
  "0x0": "generic panic",
  "0x1": "assert(false)",
  "0x11": "arithmetic underflow or overflow",
  "0x12": "division or modulo by zero",
  "0x21": "enum overflow",
  "0x22": "invalid encoded storage byte array accessed",
  "0x31": "out-of-bounds array access; popping on an empty array",
  "0x32": "out-of-bounds access of an array or bytesN",
  "0x41": "out of memory",
  "0x51": "uninitialized function",
};

/** Geth's message for a revert: with the reason where it is Solidity's own, without for a contract's own errors. */
export async function revertMessage(data: Hex): Promise<string> {
  const reason = await reasonOf(data);
  return reason === undefined ? "execution reverted" : `execution reverted: ${reason}`;
}

async function reasonOf(data: Hex): Promise<string | undefined> {
  if (data === "0x") return undefined;
  // Loaded with the first use, to keep the node's start short.
  const { BaseError, decodeErrorResult } = await import("viem");
  try {
    const decoded = decodeErrorResult({ abi: solidityErrors, data });
    if (decoded.errorName === "Error") return decoded.args[0];
    const code = `0x${decoded.args[0].toString(16)}`;
    return panics[code] ?? `unknown panic code: ${code}`;
  } catch (error) {
    if (error instanceof BaseError) return undefined;
    throw error;
  }
}
