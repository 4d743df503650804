import type { JsonRpcAnswer } from "#daemon/json-rpc.ts";

/** Fault for which a call to the chain has no usable answer. */
export type ChainFault = "unreachable" | "timeout" | "bad_answer" | "refused";

/**
 * The node could not be reached, or its answer can't be used. It says nothing about any payment; asking again later makes sense.
 */
export class ChainError extends Error {
  override readonly name = "ChainError";
  readonly code = "chain_unavailable";
  readonly fault: ChainFault;

  constructor(fault: ChainFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** The caller has gone before the chain answered. Nobody is waiting for this. */
export class AbandonedError extends Error {
  override readonly name = "AbandonedError";
  readonly code = "caller_gone";
}

/**
 * Result of sending a signed transaction to a node.
 * - `accepted`: it has it, now or already before.
 * - `nonce_taken`: another transaction of the account has the nonce, in a block or in the pool at the same or a better fee.
 * - `rejected`: it will not have it; the transaction went nowhere.
 * - `unknown`: it did not say; the transaction may be on its way.
 */
export type SendOutcome = Readonly<
  | { kind: "accepted" }
  | { kind: "nonce_taken"; message: string }
  | { kind: "rejected"; message: string }
  | { kind: "unknown"; message: string }
>;

// JSON-RPC has no codes for these; the texts are those of geth, which anvil, erigon, reth and nethermind share or vary.
const known = /already known|already imported|known transaction|already in mempool|alreadyknown/i;
const nonceTaken =
  /nonce too low|nonce is too low|nonce has already been used|replacement transaction underpriced|oldnonce/i;
const rejected =
  /insufficient funds|intrinsic gas|exceeds block gas limit|gas limit reached|invalid sender|invalid chain ?id|incompatible eip155|rlp|failed to decode|tx type not supported|exceeds the configured cap/i;

/** Reads the answer to `eth_sendRawTransaction`. */
export function sendOutcome(answer: JsonRpcAnswer): SendOutcome {
  if (answer.ok) return { kind: "accepted" };
  const { message } = answer.error;
  if (known.test(message)) return { kind: "accepted" };
  if (nonceTaken.test(message)) return { kind: "nonce_taken", message };
  if (rejected.test(message)) return { kind: "rejected", message };
  return { kind: "unknown", message };
}
