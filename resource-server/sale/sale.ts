import { randomUUID } from "node:crypto";
import type { PaymentRequirements, SettleResponse } from "@x402/core/types";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { FacilitationError, type Facilitation } from "../facilitators/facilitation.ts";
import { reason } from "#x402/reason.ts";
import { readSettleState } from "#x402/answer.ts";
import {
  isSamePurchase,
  nameHolder,
  type ClaimKey,
  type FoundClaim,
  type PaymentClaim,
} from "../claims/payment-claim.ts";
import type { RetainedResponses } from "../claims/retained-responses.ts";
import type { PaymentOwners } from "../claims/payment-owners.ts";
import type { PaymentCopies } from "./payment-copies.ts";
import type { Payment } from "./payment-header.ts";
import { createSoldOutcome, type SaleOutcome } from "./sale-outcome.ts";
import { recordSettlement, resumeClaim, settleClaim, type SettlementRecords } from "./claim-settlement.ts";
import { isRepetition, isUnused, rejectIfBusy, skipWork } from "./running-account.ts";
import { chargeWork } from "./used-amount.ts";
import { requestVerdict, type Verifier } from "./verdict.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";

/** Request with its payment. */
export type SaleRequest = Readonly<{
  payment: Payment;
  /** Offer that the payment accepts; undefined if the route doesn't have such an offer, or no longer has it. */
  requirements: PaymentRequirements | undefined;
  route: string;
  fingerprint: string;
  /** Client address, as a key of {@link toAddressKey}. */
  client: string;
  /** Memory for responses delivered to the client. */
  memory: Pick<HeldBytes, "tryAcquire">;
  /** Trace of the request, for the services that handle its payment. */
  trace?: RequestTrace | undefined;
  /** Performs the paid work. Called at most once. */
  work: () => Promise<UpstreamResult>;
}>;

/** Request whose payment accepts an offer of the route. */
type Order = SaleRequest & Readonly<{ requirements: PaymentRequirements }>;

export type SaleDependencies = SettlementRecords &
  Readonly<{
    facilitation: Facilitation;
    owners: PaymentOwners;
    /** Unix milliseconds. */
    clock: () => number;
  }>;

export type SellingDependencies = SaleDependencies &
  Pick<Verifier, "unverified"> &
  Readonly<{ responses: Pick<RetainedResponses, "hasRoom">; copies: PaymentCopies }>;

/**
 * Sells a response for a payment according to the states of `payment-claim.ts`, in the specification's order: verify,
 * work, settle; the caller delivers. A previously claimed payment gets its purchase without another charge, whatever
 * the current offers are.
 */
export async function sell(request: SaleRequest, dependencies: SellingDependencies): Promise<SaleOutcome> {
  const { key } = request.payment;
  using copy = dependencies.copies.add(key);
  const claim = await dependencies.ledger.find(key);
  if (isRepetition(claim, request)) {
    const isRepeated = claim.state === "delivered";
    return runAsOwner(key, dependencies, () => collect(key, { ...request, isRepeated }, dependencies));
  }
  const busy = rejectIfBusy(claim, request);
  if (busy !== undefined) return busy;
  const { requirements } = request;
  if (requirements === undefined) return { kind: "invalid", reason: noOffer };
  const latest = dependencies.clock() / 1_000 + requirements.maxTimeoutSeconds + clockSkewSeconds;
  if (request.payment.validBefore > latest) return { kind: "invalid", reason: reason.validBefore };
  if (!dependencies.responses.hasRoom(key.payer)) return { kind: "busy" };
  const order = { ...request, requirements };
  const earlier = await findIdentified(request.payment, dependencies);
  if (earlier !== undefined && !isSamePurchase(earlier, order)) return { kind: "other-request" };
  const refusal = await requestVerdict(order, dependencies);
  if (refusal === undefined) {
    if (earlier === undefined) {
      const bought = await runAsOwner(key, dependencies, () => buy(key, order, dependencies));
      const begun = bought.kind === "in-progress" ? await dependencies.ledger.find(key) : undefined;
      return (isRepetition(begun, request) ? undefined : rejectIfBusy(begun, request)) ?? bought;
    }
    const again = { ...request, isIdentified: true, isRepeated: earlier.state === "delivered" };
    return runAsOwner(earlier.key, dependencies, () => collect(earlier.key, again, dependencies));
  }
  // A payment being settled is no longer valid, and the settlement may come from another copy of this same request.
  const begun = refusal.kind === "invalid" ? await dependencies.ledger.find(key) : undefined;
  // The reason may be temporary, such as the payer's other payment in flight: a payment rejected here may be charged
  // through a copy that is verified later.
  if (!isRepetition(begun, request))
    return refusal.kind === "invalid" && copy.hasOthers() ? { kind: "in-progress" } : refusal;
  return runAsOwner(key, dependencies, () => collect(key, request, dependencies));
}

/** Resumes a settlement with an unknown outcome, unless a request is working on the same payment. */
export async function resumeSettlement(
  { key }: Pick<PaymentClaim, "key">,
  dependencies: SaleDependencies,
): Promise<void> {
  const { ledger, facilitation, owners } = dependencies;
  if (!owners.acquire(key)) return;
  try {
    const claim = await ledger.acquire(key);
    if (claim?.state === "settling")
      await recordSettlement(claim, await resumeClaim(claim, facilitation), dependencies);
    await ledger.disown(key);
  } finally {
    owners.release(key);
  }
}

async function runAsOwner(
  key: ClaimKey,
  { ledger, owners }: SaleDependencies,
  step: () => Promise<SaleOutcome>,
): Promise<SaleOutcome> {
  if (!owners.acquire(key)) return { kind: "in-progress" };
  let outcome: SaleOutcome | undefined;
  try {
    outcome = await step();
    if (outcome.kind !== "sold") await ledger.disown(key);
    return outcome;
  } finally {
    // A sold response stays owned until its delivery ends, so that no second request gets it meanwhile.
    if (outcome?.kind !== "sold") owners.release(key);
  }
}

/**
 * Max seconds by which a client's clock may be ahead. An authorization expires within `maxTimeoutSeconds` (x402 version
 * 2, scheme `exact` on EVM), and its response is retained as long.
 */
const clockSkewSeconds = 60;

/** SDK's reason for a payment that accepts an offer that does not exist. */
export const noOffer = "No matching payment requirements";

/**
 * Returns this payer's earlier purchase with the payment's identifier. A verified payment that a buyer signed again
 * with the same identifier, after losing the response, is not charged: it gets that response, if it is for the same
 * request on the same terms.
 */
async function findIdentified(
  { key: { payer }, identifier }: Payment,
  { ledger }: Pick<SaleDependencies, "ledger">,
): Promise<FoundClaim | undefined> {
  const key = identifier === undefined ? undefined : await ledger.findIdentified(payer, identifier);
  return key === undefined ? undefined : ledger.find(key);
}

async function buy(key: ClaimKey, request: Order, dependencies: SaleDependencies): Promise<SaleOutcome> {
  const { ledger, facilitation } = dependencies;
  const { payment, requirements, route, fingerprint } = request;
  const { read, digest, validBefore, identifier } = payment;
  const payload = read.sent;
  const idempotencyKey = randomUUID();
  const holder = nameHolder(identifier, request.client);
  const begun = { key, route, fingerprint, digest, payload, requirements, idempotencyKey, validBefore, holder };
  if (!(await ledger.claim({ ...begun, identifier }))) return collect(key, request, dependencies);
  let result: ReturnType<typeof chargeWork> | undefined;
  try {
    result = chargeWork(skipWork(read) ?? (await request.work()), requirements);
  } finally {
    if (result?.kind !== "resource") await ledger.release(key);
  }
  if (result.kind !== "resource") return result;
  const { response, amount } = result;
  await ledger.settling(key, response, amount, { isUnsynced: facilitation.settlesInLedger?.(payload) });
  const claim: PaymentClaim = { ...begun, state: "settling", amount, response, settlement: undefined };
  return recordOutcome(claim, await settleClaim(claim, read, facilitation, request.trace), dependencies);
}

/**
 * Request for an earlier purchase. `isIdentified` means that another payment with the same identifier bought it; `isRepeated` means that
 * the response had been delivered before the request came.
 */
type Collection = SaleRequest & Readonly<{ isRepeated?: boolean; isIdentified?: boolean }>;

/** Delivers an earlier claim's purchase to its owner: again to a returning client, and once to concurrent copies. */
async function collect(key: ClaimKey, request: Collection, dependencies: SaleDependencies): Promise<SaleOutcome> {
  const { ledger, facilitation } = dependencies;
  const found = await ledger.find(key);
  if (found === undefined) return { kind: "in-progress" };
  if (found.state !== "working") {
    const isOwn = request.isIdentified === true || found.digest === request.payment.digest;
    if (!isOwn || !found.hasResponse) return request.isIdentified === true ? { kind: "other-request" } : spent;
    const holder = nameHolder(request.payment.identifier, request.client);
    if (found.state === "delivered" && found.holder !== holder) return spent;
    if (found.fingerprint !== request.fingerprint) return { kind: "other-request" };
    if (found.state === "delivered" && request.isRepeated !== true) return { kind: "in-progress" };
  }
  if (!request.memory.tryAcquire(found.responseBytes)) return { kind: "busy" };
  const claim = await ledger.acquire(key);
  if (claim === undefined) return { kind: "in-progress" };
  if (claim.state === "working") {
    // The process that worked on it exited or could not record its end; nothing was charged, and the next request starts over.
    await ledger.release(key);
    return { kind: "in-progress" };
  }
  if (claim.state === "settled" || claim.state === "delivered") return createSoldOutcome(claim, dependencies);
  return recordOutcome(claim, await resumeClaim(claim, facilitation, request.trace), dependencies);
}

const spent: SaleOutcome = { kind: "invalid", reason: "invalid_exact_evm_nonce_already_used" };

async function recordOutcome(
  claim: PaymentClaim,
  settlement: SettleResponse | FacilitationError,
  dependencies: SaleDependencies,
): Promise<SaleOutcome> {
  await recordSettlement(claim, settlement, dependencies);
  if (settlement instanceof FacilitationError) return { kind: "no-verdict", cause: settlement };
  switch (readSettleState(settlement)) {
    case "settled":
      return createSoldOutcome({ ...claim, state: "settled", settlement }, dependencies, isUnused(claim));
    case "refused":
      return {
        kind: "invalid",
        reason: settlement.errorReason ?? "unexpected_settle_error",
        message: settlement.errorMessage,
        settlement,
      };
    case "pending":
      return { kind: "pending", settlement };
  }
}
