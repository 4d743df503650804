import type { Hex } from "viem";
import type { z } from "zod";
import { AnvilRequestError } from "../../anvil/anvil-request.ts";
import { toGethHalt, readHalt, needsSlot } from "./evm-halt.ts";
import { findHaltLocation } from "./halt-tracer.ts";
import type { Node } from "../method.ts";
import type { callObject, stateBlock } from "../params.ts";
import { errorCode, RpcError } from "../rpc-error.ts";

/** A call, the state it runs on, and its state overrides. */
export type ChainCall = Readonly<{
  call: z.output<typeof callObject>;
  block: z.output<typeof stateBlock>;
  stateOverrides?: object | undefined;
  blockOverrides?: object | undefined;
}>;

/**
 * Runs a call on the chain.
 *
 * @throws {RpcError} with geth's text: code 3 for a revert, -32000 when the EVM halts.
 */
export async function runCall<T>(
  node: Node,
  method: "eth_call" | "eth_estimateGas" | "eth_createAccessList",
  chainCall: ChainCall,
): Promise<T> {
  const { call, block, stateOverrides, blockOverrides } = chainCall;
  const overrides = blockOverrides === undefined ? [stateOverrides] : [stateOverrides ?? {}, blockOverrides];
  const given = overrides.filter((override) => override !== undefined);
  try {
    return await node.anvil.request<T>(method, [call, block, ...given]);
  } catch (error) {
    throw (await toRevertError(error)) ?? (await toHaltError(node, error, chainCall)) ?? error;
  }
}

/** Converts a revert to geth's error; returns undefined for any other error. Anvil returns the errors that it can't decode as text. */
async function toRevertError(error: unknown): Promise<RpcError | undefined> {
  if (!(error instanceof AnvilRequestError) || error.code !== errorCode.reverted) return undefined;
  return new RpcError(error.code, await formatRevert(error.data as Hex), error.data);
}

/** Converts an EVM halt to geth's error; returns undefined for any other error. */
async function toHaltError(node: Node, error: unknown, chainCall: ChainCall): Promise<RpcError | undefined> {
  const halt = readHalt(error);
  if (halt === undefined) return undefined;
  const { call, block, ...overrides } = chainCall;
  const place = needsSlot(halt) ? await findHaltLocation(node, { call, block, overrides }) : undefined;
  return new RpcError(errorCode.server, toGethHalt(halt, place));
}

/**
 * Rejects a call with contradictory fields, as geth does; anvil picks one of the two values.
 *
 * @throws {RpcError} -32000 with geth's text.
 */
export function checkCall({ data, input, gasPrice, maxFeePerGas, maxPriorityFeePerGas }: ChainCall["call"]): void {
  if (isGiven(data) && isGiven(input) && data.toLowerCase() !== input.toLowerCase()) {
    refuse('both "data" and "input" are set and not equal. Please use "input" to pass transaction call data');
  }
  if (isGiven(gasPrice) && (isGiven(maxFeePerGas) || isGiven(maxPriorityFeePerGas))) {
    refuse("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
  }
  if (!isGiven(maxFeePerGas) || !isGiven(maxPriorityFeePerGas)) return;
  if (BigInt(maxFeePerGas) >= BigInt(maxPriorityFeePerGas)) return;
  refuse(`maxFeePerGas (${BigInt(maxFeePerGas)}) < maxPriorityFeePerGas (${BigInt(maxPriorityFeePerGas)})`);
}

function isGiven(value: Hex | null | undefined): value is Hex {
  return value !== undefined && value !== null;
}

function refuse(message: string): never {
  throw new RpcError(errorCode.server, message);
}

/** Built-in Solidity errors. */
const solidityErrors = [
  { type: "error", name: "Error", inputs: [{ name: "reason", type: "string" }] },
  { type: "error", name: "Panic", inputs: [{ name: "code", type: "uint256" }] },
] as const;

/** Geth's texts for Solidity's panic codes. */
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

/** Formats geth's message for a revert: with the reason for Solidity's own errors, without it for a contract's custom errors. */
export async function formatRevert(data: Hex): Promise<string> {
  const reason = await readReason(data);
  return reason === undefined ? "execution reverted" : `execution reverted: ${reason}`;
}

async function readReason(data: Hex): Promise<string | undefined> {
  if (data === "0x") return undefined;
  // Loaded on first use, to keep the node's start fast.
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
