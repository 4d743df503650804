import type { JsonRpcFailure, JsonRpcResponse } from "#daemon/json-rpc.ts";

/** Reason why a call to the chain has no usable response; `signer`: the account could not sign, or can't pay for gas. */
export type ChainFault = "unreachable" | "timeout" | "bad_answer" | "refused" | "signer";

/** Unreachable node or unusable response. It implies nothing about any payment; a later retry makes sense. */
export class ChainError extends Error {
  override readonly name = "ChainError";
  readonly code = "chain_unavailable";
  readonly fault: ChainFault;

  constructor(fault: ChainFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** The caller disconnected before the chain responded, so no client waits for the result. */
export class AbandonedError extends Error {
  override readonly name = "AbandonedError";
  readonly code = "caller_gone";
}

/**
 * Result of sending a signed transaction to a node.
 * - `accepted`: the node has it, from this or an earlier call.
 * - `nonce_taken`: another transaction of the account has the nonce, in a block or in the pool at the same or a higher fee.
 * - `rejected`: the node rejected it and did not broadcast it; `isUnfunded` because the account can't pay for it.
 * - `unknown`: the node did not report the result; the transaction may have been broadcast.
 */
export type SendOutcome = Readonly<
  | { kind: "accepted" }
  | { kind: "nonce_taken"; message: string }
  | { kind: "rejected"; message: string; isUnfunded?: boolean }
  | { kind: "unknown"; message: string }
>;

// JSON-RPC has no codes for these errors; the texts are those of geth, which anvil, erigon, reth and nethermind share or vary.
const known = /already known|already imported|known transaction|already in mempool|alreadyknown/i;
const nonceTaken =
  /nonce too low|nonce is too low|nonce has already been used|replacement transaction underpriced|oldnonce/i;
const unfunded = /insufficient funds/i;
const rejected =
  /intrinsic gas|exceeds block gas limit|gas limit reached|invalid sender|invalid chain ?id|incompatible eip155|rlp|failed to decode|tx type not supported|exceeds the configured cap/i;

/** Interprets the response to `eth_sendRawTransaction`. */
export function sendOutcome(answer: JsonRpcResponse): SendOutcome {
  if (answer.ok) return { kind: "accepted" };
  const { message } = answer.error;
  if (known.test(message)) return { kind: "accepted" };
  if (nonceTaken.test(message)) return { kind: "nonce_taken", message };
  if (unfunded.test(message)) return { kind: "rejected", message, isUnfunded: true };
  if (rejected.test(message)) return { kind: "rejected", message };
  return { kind: "unknown", message };
}

// Execution errors have code 3 if the contract gave a reason; nodes report others as -32000 or -32603 with these messages.
const executionError =
  /revert|out of gas|gas required exceeds|invalid opcode|stack (under|over)flow|bad instruction|invalid jump|intrinsic gas/i;

/** @throws {ChainError} when the error is the node's own, and says nothing about the payment. */
export function requireExecutionError({ code, message }: JsonRpcFailure): void {
  if (code === 3 || executionError.test(message)) return;
  throw new ChainError("refused", `the node rejected the simulation of the payment: ${message} (code ${code})`);
}
