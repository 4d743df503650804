import { AnvilRequestError, AnvilUnreachableError } from "../anvil/anvil-request.ts";

/** JSON-RPC error codes (JSON-RPC 2.0, section 5.1; EIP-1474 for those from -32000 on). */
export const errorCode = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
} as const;

/** An error returned to the caller as is, with its JSON-RPC code. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export type WireError = Readonly<{ code: number; message: string; data?: unknown }>;

/** Geth's messages for rejected transactions, which clients recognize, keyed by anvil's messages. */
const gethTexts: Readonly<Record<string, string>> = {
  "transaction already imported": "already known",
  "Insufficient funds for gas * price + value": "insufficient funds for gas * price + value",
  "intrinsic gas too high -- CallGasCostMoreThanGasLimit": "intrinsic gas too low",
  "intrinsic gas too high -- tx.gas_limit > env.block.gas_limit": "exceeds block gas limit",
  "Failed to decode transaction": "failed to decode the signed transaction",
};

/** Anvil's codes for which geth returns -32000: clients would not recognize a rejected transaction, or would retry an internal error. */
const transactionRejected = -32003;
const notFound = -32001;

/** Converts a method's error to the one the caller sees; returns undefined for an internal fault. */
export function toWireError(error: unknown): WireError | undefined {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error instanceof AnvilRequestError) return convertChainError(error);
  if (error instanceof AnvilUnreachableError)
    return { code: errorCode.internal, message: "the chain is not responding" };
  return undefined;
}

const asServer = (message: string): WireError => ({ code: errorCode.server, message });

function convertChainError({ code, message, data }: AnvilRequestError): WireError {
  const range = /^BlockOutOfRangeError: block height is (\d+) but requested was (\d+)/.exec(message);
  if (range !== null) {
    const isPruned = Number(range[2]) <= Number(range[1]);
    return asServer(
      isPruned ? `missing trie node (path ) state of block ${range[2]} is not available` : "header not found",
    );
  }
  if (code === notFound) return asServer("header for hash not found");
  const text = gethTexts[message];
  if (code === transactionRejected || text !== undefined) return asServer(text ?? message);
  if (message.startsWith("EVM error ")) return asServer(message);
  return data === undefined ? { code, message } : { code, message, data };
}
