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
import type { PaymentClaim } from "../claims/payment-claim.ts";

/** Faults after which nothing can have been charged. */
const didNothing: ReadonlySet<FacilitationErrorCode> = new Set(["unreachable", "refused", "denied"]);

/**
 * Settles a claim whose payment is at hand. `readSettleState` says what the answer comes to; if it is `pending`, its reason says so too, with the
 * transaction if one is known. An error means that the facilitator was not reached or took nothing: then nothing was charged.
 */
export async function settleClaim(
  claim: PaymentClaim,
  payment: PresentedPayment,
  facilitation: Facilitation,
  request?: RequestTrace,
): Promise<SettleResponse | FacilitationError> {
  try {
    const answer = await facilitation.settle(payment, claim.requirements, claim.idempotencyKey, request);
    const settlement = { ...answer, payer: answer.payer ?? claim.key.payer };
    const isFault = readSettleState(answer) === "pending" && answer.errorReason !== reason.pending;
    return isFault ? buildPendingSettlement(claim, answer.transaction) : settlement;
  } catch (error) {
    if (!(error instanceof FacilitationError)) throw error;
    return didNothing.has(error.code) ? error : buildPendingSettlement(claim);
  }
}

/**
 * Settles a claim again whose settlement may have been sent before, with an unknown outcome. A facilitator that says by now that
 * the nonce is used is taken to have missed its own receipt only when it named a transaction before and names none now. One that
 * never named a transaction may have sent none, and one that it names now has failed: then the payer spent the nonce otherwise.
 * One that calls it a duplicate of the very transaction that it named before has settled this claim, before it knew owners.
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
  if (errorReason === reason.nonceUsed) return transaction === "";
  return errorReason === reason.duplicate && transaction === namedBefore;
}

/** Builds a pending settlement. `named` is the transaction that the facilitator names now; else the one that it named before counts. */
function buildPendingSettlement({ settlement, requirements, key }: PaymentClaim, named = ""): SettleResponse {
  return {
    success: false,
    errorReason: reason.pending,
    transaction: named === "" ? (settlement?.transaction ?? "") : named,
    network: requirements.network,
    payer: key.payer,
  };
}
