import type { SettleResponse } from "@x402/core/types";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import {
  FacilitationError,
  type Facilitation,
  type FacilitationErrorCode,
  type PresentedPayment,
} from "../facilitators/facilitation.ts";
import { readSettleState } from "#x402/answer.ts";
import { reason } from "#x402/reason.ts";
import { namePayment } from "#x402/payment-identifier.ts";
import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { ClaimLedger } from "../claims/claim-ledger.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";
import { isUnused } from "./running-account.ts";

/** Faults after which nothing can have been charged. */
const didNothing: ReadonlySet<FacilitationErrorCode> = new Set(["unreachable", "refused", "denied"]);

/**
 * Settles a claim whose payment is available. `readSettleState` maps the response to an outcome; if it is `pending`, so is its reason, with
 * the transaction if known. An error means that the facilitator was not reached or accepted nothing, so nothing was charged.
 */
export async function settleClaim(
  claim: PaymentClaim,
  payment: PresentedPayment,
  facilitation: Facilitation,
  request?: RequestTrace,
): Promise<SettleResponse | FacilitationError> {
  try {
    const requirements = { ...claim.requirements, amount: claim.amount };
    const answer = await facilitation.settle(payment, requirements, claim.idempotencyKey, request);
    const settlement = { ...answer, payer: answer.payer ?? claim.key.payer };
    const isFault = readSettleState(answer) === "pending" && answer.errorReason !== reason.pending;
    return isFault ? buildPendingSettlement(claim, answer.transaction) : settlement;
  } catch (error) {
    if (!(error instanceof FacilitationError)) throw error;
    return didNothing.has(error.code) ? error : buildPendingSettlement(claim);
  }
}

/**
 * Retries the settlement of a claim whose earlier settlement may have been sent, with an unknown outcome. If the
 * facilitator now reports the nonce as used, it counts as having missed its own receipt only if it reported a
 * transaction before and reports none now. If it never reported a transaction, it may have sent none, and a transaction
 * that it reports now has failed; the payer then used the nonce otherwise. If it reports a duplicate of the same
 * transaction as before, it settled this claim before it tracked owners.
 */
export async function resumeClaim(
  claim: PaymentClaim,
  facilitation: Facilitation,
  request?: RequestTrace,
): Promise<SettleResponse> {
  if (claim.payload === undefined) throw new TypeError("a claim that was delivered can't be settled");
  const settlement = await settleClaim(claim, { sent: claim.payload }, facilitation, request);
  if (settlement instanceof FacilitationError) return buildPendingSettlement(claim);
  const transaction = claim.settlement?.transaction ?? "";
  if (readSettleState(settlement) !== "refused" || transaction === "" || !isOwnSettlement(settlement, transaction))
    return settlement;
  const { network, payer } = claim.key;
  return { success: true, transaction, network: network as SettleResponse["network"], payer };
}

function isOwnSettlement({ errorReason, transaction }: SettleResponse, namedBefore: string): boolean {
  if (errorReason === reason.nonceUsed || errorReason === reason.permit2Nonce) return transaction === "";
  return errorReason === reason.duplicate && transaction === namedBefore;
}

/** Builds a pending settlement. `named` is the transaction that the facilitator reports now; without it, the earlier one is used. */
function buildPendingSettlement({ settlement, requirements, key }: PaymentClaim, named = ""): SettleResponse {
  return {
    success: false,
    errorReason: reason.pending,
    transaction: named === "" ? (settlement?.transaction ?? "") : named,
    network: requirements.network,
    payer: key.payer,
  };
}

/** Where the outcome of a settlement is recorded. */
export type SettlementRecords = Readonly<{
  ledger: ClaimLedger;
  facilitation: Pick<Facilitation, "settlesInLedger">;
  /** Called once for each charged payment. */
  onSettled: (claim: PaymentClaim) => void;
  audit?: AuditLog | undefined;
}>;

/** Records the outcome of a claim's settlement. */
export async function recordSettlement(
  claim: PaymentClaim,
  settlement: SettleResponse | FacilitationError,
  { ledger, facilitation, onSettled, audit }: SettlementRecords,
): Promise<void> {
  const { key, payload } = claim;
  const state = settlement instanceof FacilitationError ? "refused" : readSettleState(settlement);
  if (settlement instanceof FacilitationError || state === "refused") return ledger.release(key);
  if (state === "pending") return ledger.pending(key, settlement);
  // Before the ledger: after a kill in between, the outcome is requested and reported again.
  audit?.add(describeCharge(claim, settlement));
  const isUnsynced = payload !== undefined && facilitation.settlesInLedger?.(payload);
  await (isUnused(claim) ? ledger.release(key) : ledger.settled(key, settlement, { isUnsynced }));
  onSettled(claim);
}

/** Builds the audit entry of a payment charged for a response. */
function describeCharge(
  { key, route, amount, requirements: { payTo } }: PaymentClaim,
  { transaction }: SettleResponse,
): AuditEntry {
  return {
    action: "payment-charged",
    outcome: "success",
    by: key.payer,
    message: `A payment for ${route} was charged.`,
    payment: namePayment(key),
    before: { state: "settling" },
    after: { state: "settled", transaction, ...key, payTo: payTo.toLowerCase(), amount },
  };
}
