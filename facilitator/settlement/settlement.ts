import type { Hex } from "../payment/hex.ts";
import type { Reason } from "../payment/reason.ts";

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

/** A settlement that was begun and has no outcome yet, with its transactions in the order in which they were signed. */
export type Unfinished = Readonly<{ settlement: Settlement; attempts: readonly Attempt[] }>;
