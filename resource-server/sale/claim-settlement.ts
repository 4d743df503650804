import type { SettleResponse } from "@x402/core/types";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import { KeyCounts } from "#daemon/fair-shares.ts";
import { readSettleState } from "#x402/payment-result.ts";
import { namePayment, type PaymentKey } from "#x402/payment-identifier.ts";
import { reason } from "#x402/reason.ts";
import { schemes } from "#x402/schemes.ts";
import type { ClaimLedger } from "../claims/claim-ledger.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";
import {
  FacilitationError,
  type Facilitation,
  type FacilitationErrorCode,
  type PresentedPayment,
} from "../facilitators/facilitation.ts";
import type { SaleOutcome, SoldOutcome } from "./sale-outcome.ts";

/** The payments that this process handles: the requests for each, and which payments a request owns. */
export type PaymentsInFlight = ReturnType<typeof createPaymentsInFlight>;

export function createPaymentsInFlight() {
  const requests = new KeyCounts();
  const ownedKeys = new Set<string>();
  return {
    /** Counts a request with a payment until disposal, because a buyer may send copies of one payment at the same time. */
    enter(key: PaymentKey): Disposable & Readonly<{ hasOthers: () => boolean }> {
      const name = namePayment(key);
      requests.increase(name);
      return { hasOthers: () => requests.get(name) > 1, [Symbol.dispose]: () => requests.decrease(name) };
    },
    /** Makes the caller the payment's owner until its release; no other request changes its claim. Returns false if it is already owned. */
    acquire(key: PaymentKey): boolean {
      const name = namePayment(key);
      if (ownedKeys.has(name)) return false;
      ownedKeys.add(name);
      return true;
    },
    release: (key: PaymentKey) => void ownedKeys.delete(namePayment(key)),
    count: () => ownedKeys.size,
  };
}

export type SaleParts = Readonly<{
  ledger: ClaimLedger;
  facilitation: Facilitation;
  payments: PaymentsInFlight;
  onSettled: (claim: PaymentClaim) => void;
  /** Unix milliseconds. */
  clock: () => number;
  audit?: AuditLog | undefined;
}>;

/** Reason for a payment that the facilitator reports as malformed. */
export const malformedReason = "invalid_payload";

/** Faults after which nothing can have been charged. */
const failuresWithoutEffect: ReadonlySet<FacilitationErrorCode> = new Set(["unreachable", "rejected", "denied"]);

/**
 * Settles a claim whose payment payload is available. An unknown outcome is `pending`, with the transaction if known. An error means that
 * the facilitator either could not be reached or accepted nothing, so nothing was charged.
 */
export async function settleClaim(
  claim: PaymentClaim,
  payment: PresentedPayment,
  facilitation: Facilitation,
  request?: RequestTrace,
): Promise<SettleResponse | FacilitationError> {
  try {
    const requirements = { ...claim.requirements, amount: claim.amount };
    const response = await facilitation.settle(payment, requirements, claim.idempotencyKey, request);
    const settlement = { ...response, payer: response.payer ?? claim.key.payer };
    const isFault = readSettleState(response) === "pending" && response.errorReason !== reason.pending;
    return isFault ? buildPendingSettlement(claim, response.transaction) : settlement;
  } catch (error) {
    if (!(error instanceof FacilitationError)) throw error;
    return failuresWithoutEffect.has(error.code) ? error : buildPendingSettlement(claim);
  }
}

/**
 * Retries the settlement of a claim whose earlier settlement may have been sent, with an unknown outcome. If the facilitator now reports
 * the nonce as used, the payment counts as settled only if it reported a transaction before and reports none now, because it then missed
 * its own receipt. If it never reported a transaction, it may not have sent one; and any transaction that it reports now must have failed,
 * because the payer used the nonce elsewhere. If the facilitator reports a duplicate with the same transaction as before, it settled this
 * claim before it tracked owners. Neither counts for a payment through a channel: only its deposit was made, and the channel's ledger knows
 * whether it was charged.
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
  const isOwn = transaction !== "" && !restatesTotal(claim) && isOwnSettlement(settlement, transaction);
  if (readSettleState(settlement) !== "rejected" || !isOwn) return settlement;
  const { network, payer } = claim.key;
  return { success: true, transaction, network: network as SettleResponse["network"], payer };
}

function isOwnSettlement({ errorReason, transaction }: SettleResponse, previousTransaction: string): boolean {
  if (errorReason === reason.nonceUsed || errorReason === reason.permit2Nonce) return transaction === "";
  return errorReason === reason.duplicate && transaction === previousTransaction;
}

/** Builds a pending settlement. `named` is the transaction that the facilitator reports now; without it, the earlier one is used. */
function buildPendingSettlement(
  { settlement, requirements, key }: PaymentClaim,
  namedTransaction = "",
): SettleResponse {
  return {
    success: false,
    errorReason: reason.pending,
    transaction: namedTransaction === "" ? (settlement?.transaction ?? "") : namedTransaction,
    network: requirements.network,
    payer: key.payer,
  };
}

export async function recordOutcome(
  claim: PaymentClaim,
  settlement: SettleResponse | FacilitationError,
  parts: SaleParts,
): Promise<SaleOutcome> {
  const { ledger, facilitation } = parts;
  const { key, payload } = claim;
  if (settlement instanceof FacilitationError) {
    await ledger.release(key);
    if (settlement.code === "rejected") return { kind: "invalid", reason: malformedReason };
    return { kind: "no-verdict", cause: settlement };
  }
  switch (readSettleState(settlement)) {
    case "rejected": {
      await ledger.release(key);
      const { errorReason = "unexpected_settle_error", errorMessage: message } = settlement;
      return { kind: "invalid", reason: errorReason, message, settlement };
    }
    case "pending":
      await ledger.pending(key, settlement);
      return { kind: "pending", settlement };
    case "settled": {
      // Do this before the ledger write: if the process is killed between the two, the outcome is requested and reported again.
      reportCharge(claim, settlement, parts);
      const isFree = isUnused(claim);
      const isUnsynced = payload !== undefined && facilitation.settlesInLedger?.(payload);
      await (isFree ? ledger.release(key) : ledger.settled(key, settlement, { isUnsynced }));
      parts.onSettled(claim);
      return createSoldOutcome({ ...claim, settlement }, parts, isFree);
    }
  }
}

/** Returns whether a settled claim's payment may buy something else, because it restates a running total, with nothing added. */
function isUnused(claim: PaymentClaim): boolean {
  return claim.amount === "0" && restatesTotal(claim);
}

function restatesTotal({ requirements }: PaymentClaim): boolean {
  return schemes.find(({ name }) => name === requirements.scheme)?.busy !== undefined;
}

/** Creates the outcome of a charged claim; its payment stays claimed until the delivery ends, unless the claim `isReleased`. */
export function createSoldOutcome(
  { key, response, settlement }: PaymentClaim,
  { ledger, payments }: SaleParts,
  isReleased = false,
): SoldOutcome {
  if (response === undefined || settlement === undefined) throw new TypeError("a settled claim without its response");
  const end = async (isDelivered: boolean): Promise<void> => {
    try {
      await (isDelivered ? ledger.delivered(key) : ledger.disown(key));
    } finally {
      payments.release(key);
    }
  };
  return { kind: "sold", response, settlement, ...(!isReleased && { end }) };
}

function reportCharge(
  { key, route, amount, requirements: { payTo } }: PaymentClaim,
  { transaction }: SettleResponse,
  { audit }: SaleParts,
): void {
  audit?.add({
    action: "payment-charged",
    outcome: "success",
    by: key.payer,
    message: `A payment for ${route} was charged.`,
    payment: namePayment(key),
    before: { state: "settling" },
    after: { state: "settled", transaction, ...key, payTo: payTo.toLowerCase(), amount },
  });
}
