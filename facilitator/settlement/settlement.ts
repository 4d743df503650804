import type { Hex } from "#x402/hex.ts";
import type { Reason } from "#x402/reason.ts";

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
  /** Time of its first request, in milliseconds since 1970: kept in the ledger, so that no restart makes it younger. */
  begunAtMs: number;
  /** Caller that requested it first, if known; its owner now is in the ledger (`ownership.ts`). */
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

/**
 * Record of a settlement in the ledger, with its owner; undefined if nobody owns it. What callers are answered is
 * another union, `Answer` of `x402/answer.ts`.
 */
export type Recorded = Readonly<(Begun | Outcome) & { owner: string | undefined }>;

/** Under way; with its newest transaction if there is one and it was requested. */
type Begun = Readonly<{ state: "begun"; transaction?: Hex | undefined }>;

/** Final outcome of a settlement. */
export type Outcome = Readonly<
  { state: "settled"; transaction: Hex } | { state: "failed"; transaction: Hex; reason: Reason; message: string }
>;

/** A settlement that was begun and has no outcome yet, with its transactions in the order in which they were signed. */
export type Unfinished = Readonly<{ settlement: Settlement; attempts: readonly Attempt[] }>;
