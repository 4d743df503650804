import { randomUUID } from "node:crypto";
import type { PaymentRequirements } from "@x402/core/types";
import { FairSlots } from "#daemon/fair-shares.ts";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { ClaimMovedError } from "../claims/claim-ledger.ts";
import {
  areSamePurchase,
  nameHolder,
  type ClaimKey,
  type FoundClaim,
  type PaymentClaim,
} from "../claims/payment-claim.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";
import { createSoldOutcome, recordOutcome, resumeClaim, settleClaim, type SaleParts } from "./claim-settlement.ts";
import type { Payment } from "./payment-header.ts";
import type { SaleOutcome, SaleWithoutLedger } from "./sale-outcome.ts";
import { chargeWork, skipWork } from "./used-amount.ts";
import { rejectValidity, requestVerdict, type VerdictParts } from "./verdict.ts";

export type SaleRequest = Readonly<{
  payment: Payment;
  /** The offer that the payment accepts; undefined if the route has no such offer, or no longer. */
  requirements: PaymentRequirements | undefined;
  route: string;
  fingerprint: string;
  /** Client address, as a key of `toAddressKey`. */
  client: string;
  memory: Pick<HeldBytes, "tryAcquire">;
  trace?: RequestTrace | undefined;
  /** Performs the paid work. Called at most once. */
  work: () => Promise<UpstreamResult>;
}>;

type Order = SaleRequest & Readonly<{ requirements: PaymentRequirements }>;

type SellingParts = SaleParts & VerdictParts;

export type Sales = ReturnType<typeof createSales>;

/**
 * Creates the sale of responses. At most `inFlightMax` payments are in flight, shared fairly between clients, each until its delivery
 * ends; at most half of them may await a verdict.
 */
export function createSales(
  { inFlightMax }: Readonly<{ inFlightMax: number }>,
  givenParts: Omit<SellingParts, "unverified">,
) {
  const slots = new FairSlots(inFlightMax);
  const parts = { ...givenParts, unverified: new FairSlots(Math.ceil(inFlightMax / 2)) };
  return {
    sell: async (request: SaleRequest): Promise<SaleOutcome> => {
      const entry = slots.enter(request.client);
      if (!entry.ok) return { kind: "busy" };
      using keptResources = new DisposableStack();
      keptResources.use(entry.slot);
      const outcome = await catchLedgerFault(() => sell(request, parts));
      if (outcome.kind !== "sold") return outcome;
      const slot = keptResources.move();
      const end = async (isDelivered: boolean): Promise<void> => {
        using _slot = slot;
        await outcome.end?.(isDelivered);
      };
      return { ...outcome, end };
    },
    /** Returns whether this exact payment has already bought something, or why that is currently unknown. */
    hasSold: ({ key, digest }: Payment): Promise<boolean | SaleWithoutLedger> =>
      catchLedgerFault(async () => (await parts.ledger.find(key))?.digest === digest),
  };
}

/** Converts an unavailable ledger, or a claim taken over by another process, to an outcome. */
async function catchLedgerFault<T>(step: () => Promise<T>): Promise<T | SaleWithoutLedger> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof StoreError || error instanceof ClaimMovedError) return { kind: "no-ledger", cause: error };
    throw error;
  }
}

/**
 * Sells a response for a payment according to the states of `payment-claim.ts`, in the specification's order: verify,
 * work, settle; the caller delivers. A previously claimed payment gets its purchase without another charge, whatever
 * the current offers are.
 */
async function sell(request: SaleRequest, parts: SellingParts): Promise<SaleOutcome> {
  const { ledger } = parts;
  const { payment, requirements } = request;
  const { key } = payment;
  using copy = parts.payments.enter(key);
  const claim = await ledger.find(key);
  if (isRepetition(claim, request)) {
    const isRepeated = claim.state === "delivered";
    return runAsOwner(key, parts, () => collect(key, { ...request, isRepeated }, parts));
  }
  const busy = rejectIfBusy(claim, payment);
  if (busy !== undefined) return busy;
  if (requirements === undefined) return { kind: "invalid", reason: noOffer };
  const validityRejection = rejectValidity(payment, requirements, parts.clock());
  if (validityRejection !== undefined) return validityRejection;
  if (!ledger.hasRoom(key.payer)) return { kind: "busy" };
  const order = { ...request, requirements };
  const earlierPurchase = await findIdentified(payment, parts);
  if (earlierPurchase !== undefined && !areSamePurchase(earlierPurchase, order)) return { kind: "other-request" };
  const rejection = await requestVerdict(order, parts);
  if (rejection === undefined) {
    if (earlierPurchase === undefined) {
      const bought = await runAsOwner(key, parts, () => buy(key, order, parts));
      const startedClaim = bought.kind === "in-progress" ? await ledger.find(key) : undefined;
      return (isRepetition(startedClaim, request) ? undefined : rejectIfBusy(startedClaim, payment)) ?? bought;
    }
    const repeatedRequest = { ...request, isIdentified: true, isRepeated: earlierPurchase.state === "delivered" };
    return runAsOwner(earlierPurchase.key, parts, () => collect(earlierPurchase.key, repeatedRequest, parts));
  }
  // A payment being settled is no longer valid, and a copy of this request may be settling it.
  const startedClaim = rejection.kind === "invalid" ? await ledger.find(key) : undefined;
  // The reason may be temporary, such as another payment of the payer in flight, so a copy that is verified later may still charge a
  // payment rejected here.
  if (!isRepetition(startedClaim, request))
    return rejection.kind === "invalid" && copy.hasOthers() ? { kind: "in-progress" } : rejection;
  return runAsOwner(key, parts, () => collect(key, request, parts));
}

async function runAsOwner(
  key: ClaimKey,
  { ledger, payments }: SaleParts,
  step: () => Promise<SaleOutcome>,
): Promise<SaleOutcome> {
  if (!payments.acquire(key)) return { kind: "in-progress" };
  let outcome: SaleOutcome | undefined;
  try {
    outcome = await step();
    if (outcome.kind !== "sold") await ledger.disown(key);
    return outcome;
  } finally {
    // A sold response stays owned until its delivery ends, so that no second request gets it earlier.
    if (outcome?.kind !== "sold" || outcome.end === undefined) payments.release(key);
  }
}

/** SDK's reason for a payment that accepts an offer that does not exist. */
export const noOffer = "No matching payment requirements";

/**
 * Returns whether a request repeats the purchase of a claim, so that the buyer gets the response it paid for. A payment that repeats a
 * running total may also be for a new purchase, e.g. after a buyer lost its total; verification decides.
 */
function isRepetition(claim: FoundClaim | undefined, { payment, fingerprint }: SaleRequest): claim is FoundClaim {
  if (claim?.digest !== payment.digest) return false;
  if (payment.read.scheme.busy === undefined) return true;
  const isMarked = claim.holder === payment.identifier;
  return claim.fingerprint === fingerprint && (claim.state !== "delivered" || isMarked);
}

/** Returns the rejection of a payment whose account has another request in flight; undefined if it has none. */
function rejectIfBusy(claim: FoundClaim | undefined, { read }: Payment): SaleOutcome | undefined {
  const { busy } = read.scheme;
  const isInFlight = claim?.state === "working" || claim?.state === "settling";
  return isInFlight && busy !== undefined ? { kind: "invalid", reason: busy } : undefined;
}

/**
 * Returns this payer's earlier purchase with the same payment identifier. A verified payment that a buyer signed again
 * with the same identifier, after losing the response, is not charged: it gets that response, if it is for the same
 * request on the same terms.
 */
async function findIdentified(
  { key: { payer }, identifier }: Payment,
  { ledger }: SaleParts,
): Promise<FoundClaim | undefined> {
  const key = identifier === undefined ? undefined : await ledger.findIdentified(payer, identifier);
  return key && ledger.find(key);
}

async function buy(key: ClaimKey, request: Order, parts: SaleParts): Promise<SaleOutcome> {
  const { ledger, facilitation } = parts;
  const { payment, requirements, route, fingerprint } = request;
  const { read, digest, validBefore, identifier } = payment;
  const payload = read.sent;
  const idempotencyKey = randomUUID();
  const holder = nameHolder(identifier, request.client);
  const startedClaim = { key, route, fingerprint, digest, payload, requirements, idempotencyKey, validBefore, holder };
  if (!(await ledger.claim({ ...startedClaim, identifier }))) return collect(key, request, parts);
  let result: ReturnType<typeof chargeWork> | undefined;
  try {
    result = chargeWork(skipWork(read) ?? (await request.work()), requirements);
  } finally {
    if (result?.kind !== "resource") await ledger.release(key);
  }
  if (result.kind !== "resource") return result;
  const { response, amount } = result;
  await ledger.settling(key, response, amount, { isUnsynced: facilitation.settlesInLedger?.(payload) });
  const claim: PaymentClaim = { ...startedClaim, state: "settling", amount, response, settlement: undefined };
  return recordOutcome(claim, await settleClaim(claim, read, facilitation, request.trace), parts);
}

/**
 * Request for an earlier purchase. `isIdentified` means that another payment with the same identifier bought it; `isRepeated` means that
 * the response was delivered before the request arrived.
 */
type Collection = SaleRequest & Readonly<{ isRepeated?: boolean; isIdentified?: boolean }>;

/** Delivers an earlier claim's purchase to its owner: again if the client retries, but once for concurrent copies. */
async function collect(key: ClaimKey, request: Collection, parts: SaleParts): Promise<SaleOutcome> {
  const { ledger, facilitation } = parts;
  const foundClaim = await ledger.find(key);
  if (foundClaim === undefined) return { kind: "in-progress" };
  if (foundClaim.state !== "working") {
    const isOwn = request.isIdentified === true || foundClaim.digest === request.payment.digest;
    if (!isOwn || !foundClaim.hasResponse) return request.isIdentified === true ? { kind: "other-request" } : spent;
    const holder = nameHolder(request.payment.identifier, request.client);
    if (foundClaim.state === "delivered" && foundClaim.holder !== holder) return spent;
    if (foundClaim.fingerprint !== request.fingerprint) return { kind: "other-request" };
    if (foundClaim.state === "delivered" && request.isRepeated !== true) return { kind: "in-progress" };
  }
  if (!request.memory.tryAcquire(foundClaim.responseBytes)) return { kind: "busy" };
  const claim = await ledger.acquire(key);
  if (claim === undefined) return { kind: "in-progress" };
  switch (claim.state) {
    case "working":
      // The process that handled the payment exited or could not record the outcome; nothing was charged, and the next request starts over.
      await ledger.release(key);
      return { kind: "in-progress" };
    case "settling":
      return recordOutcome(claim, await resumeClaim(claim, facilitation, request.trace), parts);
    default:
      return { ...createSoldOutcome(claim, parts), isReplay: claim.state === "delivered" };
  }
}

const spent: SaleOutcome = { kind: "invalid", reason: "invalid_exact_evm_nonce_already_used" };
