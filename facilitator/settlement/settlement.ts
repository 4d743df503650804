import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import type { Hex } from "#x402/hex.ts";
import type { Reason } from "#x402/reason.ts";
import { namePayment } from "#x402/payment-identifier.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";

/** Payment to be submitted to the chain: all data needed to sign its transaction again and to recognise its success. */
export type Settlement = Readonly<{
  /** EIP-712 digest of what the payer signed. */
  id: Hex;
  asset: Hex;
  /** Contract that moves the tokens: the token itself, or one that calls it. */
  contract: Hex;
  payer: Hex;
  payTo: Hex;
  /** In the asset's smallest unit. */
  amount: bigint;
  authorizationNonce: Hex;
  /** Seconds since 1970; from then on the authorization is expired. */
  validBefore: bigint;
  callData: Hex;
  /** Time of its first request, in milliseconds since 1970; stored in the ledger, so that restarts don't reset it. */
  begunAtMs: number;
  /** Caller that first requested it, if known; the ledger has the current owner (`ownership.ts`). */
  owner: string | undefined;
}>;

/** Signed transaction of a settlement, which may settle others too. */
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
  /** Position among the settlements of its transaction; undefined if it has one. */
  batch?: Readonly<{ index: number; size: number }> | undefined;
}>;

/** Record of a settlement in the ledger, with its owner; undefined if unowned. Responses to callers are another union, `Answer` of `x402/answer.ts`. */
export type Recorded = Readonly<(Begun | Outcome) & { owner: string | undefined }>;

/** In flight; with its newest transaction if it exists and was selected. */
type Begun = Readonly<{ state: "begun"; transaction?: Hex | undefined }>;

/** Final outcome of a settlement. */
export type Outcome = Readonly<
  | { state: "settled"; transaction: Hex; amount?: bigint }
  | { state: "failed"; transaction: Hex; reason: Reason; message: string }
>;

/** Started settlement without an outcome, with its transactions in the order of signing. */
export type Unfinished = Readonly<{ settlement: Settlement; attempts: readonly Attempt[] }>;

/** Builds the settlement of a payment, with its requester and time. */
export function toSettlement(payment: SignedPayment, owner: string, begunAtMs: number): Settlement {
  const { id, asset, contract, payer, payTo, amount, authorization, callData } = payment;
  const { nonce, validBefore } = authorization;
  const terms = { id, asset, contract, payer, payTo, amount, authorizationNonce: nonce, validBefore };
  return { ...terms, callData, begunAtMs, owner };
}

/** Builds the audit entry of an ended settlement. */
export function auditSettlement(
  { id, payer, payTo, asset, amount, authorizationNonce: nonce }: Settlement,
  outcome: Outcome,
  network: string,
): AuditEntry {
  const isSettled = outcome.state === "settled";
  return {
    action: isSettled ? "payment-settled" : "payment-failed",
    outcome: isSettled ? "success" : "failure",
    by: "facilitator",
    message: isSettled ? "A payment was settled on the chain." : "A payment was not settled.",
    ...(isSettled ? {} : { reason: `${outcome.reason}: ${outcome.message}` }),
    payment: namePayment({ network, asset, payer, nonce }),
    before: { state: "begun" },
    after: {
      state: outcome.state,
      settlement: id,
      transaction: outcome.transaction,
      payer: payer.toLowerCase(),
      payTo: payTo.toLowerCase(),
      asset: asset.toLowerCase(),
      amount: String(amount),
    },
  };
}
