import type { PaymentRequirements, SettleResponse } from "@x402/core/types";
import type { FacilitationError } from "../facilitators/facilitation.ts";
import type { ClaimLedger } from "../claims/claim-ledger.ts";
import type { PaymentClaim, SoldResponse } from "../claims/payment-claim.ts";
import type { PaymentOwners } from "../claims/payment-owners.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";

/**
 * Outcome of a sale, for the client:
 * - `sold`: deliver the response, then end the delivery;
 * - `invalid`: the payment was rejected by verification, by settlement, or because it is spent; nothing more was charged;
 * - `pending`: the settlement's outcome is still unknown; the same payment gets it;
 * - `in-progress`: another request with the same payment is in progress;
 * - `other-request`: the payment bought something else;
 * - `declined`, `failed`: the upstream returned nothing to sell; nothing was charged;
 * - `no-verdict`: the facilitator or the chain returned no verdict; nothing was charged, and the same payment may still buy;
 * - `busy`: too many requests are in flight; nothing was done;
 * - `no-ledger`: the ledger could not be read or written; anything already started is found later, and the same payment gets the result.
 */
export type SaleOutcome = Readonly<
  | { kind: "sold"; response: SoldResponse; settlement: SettleResponse; delivery: Delivery }
  | {
      kind: "invalid";
      reason: string;
      message?: string | undefined;
      settlement?: SettleResponse;
      /** The accepted offer, with the data that its buyer needs to pay it. */
      corrected?: PaymentRequirements | undefined;
    }
  | { kind: "pending"; settlement: SettleResponse }
  | { kind: "in-progress" | "other-request" | "busy" }
  | { kind: "no-verdict"; cause: FacilitationError }
  | SaleWithoutLedger
  | Exclude<UpstreamResult, { kind: "resource" }>
>;

/** Outcome when the ledger is unavailable. */
export type SaleWithoutLedger = Readonly<{ kind: "no-ledger"; cause: Error }>;

/** Callbacks for the end of a sold response's delivery. Exactly one must be called, once. */
export type Delivery = Readonly<{
  /** The client has received the whole response; the payment buys nothing more. */
  delivered: () => Promise<void>;
  /** The client disconnected; it may return with the same payment. */
  undelivered: () => Promise<void>;
}>;

/** Creates the outcome of a charged claim; its payment stays owned until the delivery ends, unless its claim `isReleased`. */
export function createSoldOutcome(
  { key, response, settlement }: PaymentClaim,
  {
    ledger,
    owners,
  }: Readonly<{ ledger: Pick<ClaimLedger, "delivered" | "disown">; owners: Pick<PaymentOwners, "release"> }>,
  isReleased = false,
): SaleOutcome {
  if (response === undefined || settlement === undefined) throw new TypeError("a settled claim without its response");
  if (isReleased) {
    owners.release(key);
    return { kind: "sold", response, settlement, delivery: { delivered: async () => {}, undelivered: async () => {} } };
  }
  return {
    kind: "sold",
    response,
    settlement,
    delivery: {
      async delivered() {
        try {
          await ledger.delivered(key);
        } finally {
          owners.release(key);
        }
      },
      async undelivered() {
        try {
          await ledger.disown(key);
        } finally {
          owners.release(key);
        }
      },
    },
  };
}
