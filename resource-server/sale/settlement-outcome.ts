import type { SettleResponse } from "@x402/core/types";
import {
  FacilitationError,
  type Facilitation,
  type FacilitationErrorCode,
  type PresentedPayment,
} from "../facilitators/facilitation.ts";
import { isInconclusive } from "../facilitators/inconclusive-reason.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";

/**
 * What became of a settlement:
 * - `settled`: charged;
 * - `refused`: not charged, and it never will be by this attempt;
 * - `pending`: not known yet; `settlement` is `settlement_pending`, with the transaction if one is known;
 * - `not-sent`: the facilitator was not reached or took nothing, nothing was charged.
 */
export type SettlementOutcome = Readonly<
  | { kind: "settled" | "refused" | "pending"; settlement: SettleResponse }
  | { kind: "not-sent"; cause: FacilitationError }
>;

/** Reason of the SDK for an authorization that the token has taken already. */
const nonceAlreadyUsed = "invalid_exact_evm_nonce_already_used";
/** Reason of a facilitator for a payment whose settlement belongs to another caller. */
const duplicateSettlement = "duplicate_settlement";
const settlementPending = "settlement_pending";

/** Faults after which nothing can have been charged. */
const didNothing: ReadonlySet<FacilitationErrorCode> = new Set(["unreachable", "refused", "denied"]);

/** Settles a claim whose payment is at hand. */
export async function settleClaim(
  claim: PaymentClaim,
  payment: PresentedPayment,
  facilitation: Facilitation,
): Promise<SettlementOutcome> {
  try {
    const answer = await facilitation.settle(payment, claim.requirements, claim.idempotencyKey);
    const settlement = { ...answer, payer: answer.payer ?? claim.key.payer };
    if (answer.success) return { kind: "settled", settlement };
    if (isInconclusive(answer.errorReason))
      return { kind: "pending", settlement: pendingSettlement(claim, answer.transaction) };
    return { kind: answer.errorReason === settlementPending ? "pending" : "refused", settlement };
  } catch (error) {
    if (!(error instanceof FacilitationError)) throw error;
    if (didNothing.has(error.code)) return { kind: "not-sent", cause: error };
    return { kind: "pending", settlement: pendingSettlement(claim) };
  }
}

/**
 * Settles a claim again whose settlement may have been sent before, with an unknown outcome. A facilitator that says by now that
 * the nonce is used is taken to have missed its own receipt only when it named a transaction before and names none now. One that
 * never named a transaction may have sent none, and one that it names now has failed: then the payer spent the nonce otherwise.
 * One that calls it a duplicate of the very transaction that it named before has settled this claim, before it knew owners.
 */
export async function resumeClaim(claim: PaymentClaim, facilitation: Facilitation): Promise<SettlementOutcome> {
  if (claim.payload === undefined) throw new TypeError("a claim that was delivered can't be settled");
  const outcome = await settleClaim(claim, { sent: claim.payload }, facilitation);
  if (outcome.kind === "not-sent") return { kind: "pending", settlement: pendingSettlement(claim) };
  const transaction = claim.settlement?.transaction ?? "";
  if (outcome.kind !== "refused" || transaction === "" || !isOwnSettlement(outcome.settlement, transaction))
    return outcome;
  const { network, payer } = claim.key;
  return {
    kind: "settled",
    settlement: { success: true, transaction, network: network as SettleResponse["network"], payer },
  };
}

function isOwnSettlement({ errorReason, transaction }: SettleResponse, namedBefore: string): boolean {
  if (errorReason === nonceAlreadyUsed) return transaction === "";
  return errorReason === duplicateSettlement && transaction === namedBefore;
}

/** `named` is the transaction that the facilitator names now; else the one that it named before counts. */
function pendingSettlement({ settlement, requirements, key }: PaymentClaim, named = ""): SettleResponse {
  return {
    success: false,
    errorReason: settlementPending,
    transaction: named === "" ? (settlement?.transaction ?? "") : named,
    network: requirements.network,
    payer: key.payer,
  };
}
