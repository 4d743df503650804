import type { Scheme } from "#x402/scheme.ts";
import { schemes } from "#x402/schemes.ts";
import type { FoundClaim, PaymentClaim } from "../claims/payment-claim.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";
import type { Payment } from "./payment-header.ts";
import type { SaleOutcome } from "./sale-outcome.ts";

/** The parts of a paid request that identify a purchase. */
type Purchase = Readonly<{ payment: Payment; fingerprint: string }>;

/**
 * Returns whether a request repeats the purchase of a claim, so that the buyer gets the response it paid for. A payment
 * that repeats a running total may also be for a new purchase, e.g. from a buyer that lost its count; verification
 * decides.
 */
export function isRepetition(claim: FoundClaim | undefined, { payment, fingerprint }: Purchase): claim is FoundClaim {
  if (claim?.digest !== payment.digest) return false;
  if (payment.read.scheme.busy === undefined) return true;
  const isMarked = claim.holder === payment.identifier;
  return claim.fingerprint === fingerprint && (claim.state !== "delivered" || isMarked);
}

/** Returns the rejection of a payment whose account has another request in flight; undefined if it has none. */
export function rejectIfBusy(claim: FoundClaim | undefined, { payment }: Purchase): SaleOutcome | undefined {
  const { busy } = payment.read.scheme;
  const isInFlight = claim?.state === "working" || claim?.state === "settling";
  return isInFlight && busy !== undefined ? { kind: "invalid", reason: busy } : undefined;
}

/**
 * Returns whether the payment of a settled claim may buy something else: it restates a running total, with nothing
 * added.
 */
export function isUnused({ amount, requirements }: PaymentClaim): boolean {
  return amount === "0" && schemes.find(({ name }) => name === requirements.scheme)?.busy !== undefined;
}

/** Returns the result instead of work for a payment that requests a refund; undefined for others. */
export function skipWork({
  scheme,
  payment,
}: Readonly<{ scheme: Scheme; payment: unknown }>): UpstreamResult | undefined {
  if (scheme.buysNothing?.(payment) !== true) return undefined;
  const body = Buffer.from('{"message":"The channel is refunded; PAYMENT-RESPONSE has the details."}');
  const response = { status: 200, headers: [["content-type", "application/json"]] as const, body };
  return { kind: "resource", response, used: '{"amount":"0"}' };
}
