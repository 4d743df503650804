import { AnvilRequestError, AnvilUnreachableError } from "../anvil/anvil-request.ts";

/** JSON-RPC error codes (JSON-RPC 2.0, section 5.1; EIP-1474 for those from -32000 on). */
export const errorCode = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
  /** A revert, with its bytes as data (geth). */
  reverted: 3,
} as const;

/** An error returned to the caller as is, with its JSON-RPC code. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The error object of a response. */
export type WireError = Readonly<{ code: number; message: string; data?: unknown }>;

/** Geth's texts for rejected transactions, keyed by anvil's texts: clients recognize geth's. */
const gethTexts: Readonly<Record<string, string>> = {
  "transaction already imported": "already known",
  "Insufficient funds for gas * price + value": "insufficient funds for gas * price + value",
  "intrinsic gas too high -- CallGasCostMoreThanGasLimit": "intrinsic gas too low",
  "intrinsic gas too high -- tx.gas_limit > env.block.gas_limit": "exceeds block gas limit",
  "Failed to decode transaction": "failed to decode the signed transaction",
};

const transactionRejected = -32003;
const notFound = -32001;

/** Converts a method's error to the one the caller sees; returns undefined for an internal fault. */
export function toWireError(error: unknown): WireError | undefined {
  if (error instanceof RpcError) return withData(error.code, error.message, error.data);
  if (error instanceof AnvilRequestError) return convertChainError(error);
  if (error instanceof AnvilUnreachableError)
    return { code: errorCode.internal, message: "the chain is not responding" };
  return undefined;
}

function convertChainError({ code, message, data }: AnvilRequestError): WireError {
  if (findRequestedBlock(message) !== undefined) return { code: errorCode.server, message: "header not found" };
  if (code === notFound) return { code: errorCode.server, message: "header for hash not found" };
  const text = gethTexts[message] ?? formatGethAllowance(message);
  // Clients interpret -32003 as a failed transaction creation; geth returns -32000.
  if (code === transactionRejected || text !== undefined) return { code: errorCode.server, message: text ?? message };
  return withData(code, message, data);
}

/** Converts anvil's error text when `eth_estimateGas` exceeds the caller's gas allowance; returns undefined for any other text. */
function formatGethAllowance(message: string): string | undefined {
  const allowed = /^Out of gas: gas required exceeds allowance: (\d+)$/.exec(message)?.[1];
  return allowed === undefined ? undefined : `gas required exceeds allowance (${allowed})`;
}

/** Finds the block whose state anvil lacks because it is pruned or not mined yet; returns undefined for any other error. */
export function findRequestedBlock(message: string): Readonly<{ head: number; requested: number }> | undefined {
  const found = /^BlockOutOfRangeError: block height is (\d+) but requested was (\d+)/.exec(message);
  return found === null ? undefined : { head: Number(found[1]), requested: Number(found[2]) };
}

function withData(code: number, message: string, data: unknown): WireError {
  return data === undefined ? { code, message } : { code, message, data };
}
