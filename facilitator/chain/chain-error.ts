import type { JsonRpcFailure } from "#daemon/json-rpc.ts";

/**
 * Reason why a call to the chain has no usable response. `signer` means that the account could not sign, or can't pay for gas.
 */
export type ChainFault = "unreachable" | "timeout" | "bad_answer" | "rejected" | "signer";

/** The node is unreachable, or its response is unusable. This implies nothing about any payment; retry later. */
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

// Execution errors have code 3 if the contract gave a reason; nodes report others as -32000 or -32603 with these messages.
const executionError =
  /revert|out of gas|gas required exceeds|invalid opcode|stack (under|over)flow|bad instruction|invalid jump|intrinsic gas/i;

/** @throws {ChainError} when the fault is the node's own, and implies nothing about the payment. */
export function requireExecutionError({ code, message }: JsonRpcFailure): void {
  if (code === 3 || executionError.test(message)) return;
  throw new ChainError("rejected", `the node rejected the simulation of the payment: ${message} (code ${code})`);
}
