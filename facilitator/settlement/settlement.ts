import type { Hex } from "#x402/hex.ts";
import type { Reason, Refusal } from "#x402/reason.ts";

/** A payment on its way to the chain: all that is needed to sign its transaction again and to recognise its success. */
export type Settlement = Readonly<{
  /** The EIP-712 digest of the authorization. */
  id: Hex;
  asset: Hex;
  payer: Hex;
  payTo: Hex;
  /** In the asset's smallest unit. */
  amount: bigint;
  authorizationNonce: Hex;
  /** Seconds since 1970; from then on the authorization can't be used any more (EIP-3009). */
  validBefore: bigint;
  callData: Hex;
  /** Who asked for it first, where that is known; who owns it now is said by the ledger (`ownership.ts`). */
  owner: string | undefined;
}>;

/** One signed transaction that carries a settlement. */
export type Attempt = Readonly<{
  hash: Hex;
  signer: Hex;
  /** The signer's transaction nonce. */
  nonce: number;
  rawTransaction: Hex;
  /** In wei. */
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  signedAtMs: number;
}>;

/** How a settlement ended, for good. */
export type Outcome = Readonly<
  { state: "settled"; transaction: Hex } | { state: "failed"; transaction: Hex; reason: Reason; message: string }
>;

/** How far a settlement on record is, and who owns it; nobody where there is no owner. */
export type Progress = Readonly<(Outcome | { state: "begun" }) & { owner: string | undefined }>;

/**
 * What a caller of `settle` learns: an outcome, a refusal, that the outcome is not known yet, or that the payment is another
 * caller's. The transaction is empty while a settlement that is on record waits for a replica to send it.
 */
export type SettleResult = Readonly<
  Outcome | { state: "refused"; refusal: Refusal } | { state: "pending" | "duplicate"; transaction: Hex | "" }
>;

/** A settlement that was begun and has no outcome yet, with its transactions in the order in which they were signed. */
export type Unfinished = Readonly<{ settlement: Settlement; attempts: readonly Attempt[] }>;
