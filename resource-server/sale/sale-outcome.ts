import type { PaymentRequirements, SettleResponse } from "@x402/core/types";
import type { FacilitationError } from "../facilitators/facilitation.ts";
import type { SoldResponse } from "../claims/payment-claim.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";

/**
 * Outcome of a sale, for the client:
 * - `sold`: deliver the response, then call `end` once, with whether the client received all of it; without `end`, nothing is left to do;
 * - `invalid`: the payment was rejected by verification, by settlement, or because it is spent; nothing more was charged;
 * - `pending`: the settlement's outcome is still unknown; the same payment gets it;
 * - `in-progress`: another request with the same payment is in progress;
 * - `other-request`: the payment bought something else;
 * - `declined`, `failed`: there is no response that can be sold, see {@link UpstreamResult}; nothing was charged;
 * - `no-verdict`: the facilitator or the chain returned no verdict; nothing was charged, and the same payment may still buy;
 * - `busy`: too many requests are in flight; nothing was done;
 * - `no-ledger`: the ledger could not be read or written; anything already started is found later, and the same payment gets the result.
 */
export type SaleOutcome = Readonly<
  | SoldOutcome
  | {
      kind: "invalid";
      reason: string;
      message?: string | undefined;
      settlement?: SettleResponse;
      corrected?: PaymentRequirements | undefined;
    }
  | { kind: "pending"; settlement: SettleResponse }
  | { kind: "in-progress" | "other-request" | "busy" }
  | { kind: "no-verdict"; cause: FacilitationError }
  | SaleWithoutLedger
  | Exclude<UpstreamResult, { kind: "resource" }>
>;

export type SoldOutcome = Readonly<{
  kind: "sold";
  response: SoldResponse;
  settlement: SettleResponse;
  /** Whether the response had been delivered before. */
  isReplay?: boolean;
  end?: (isDelivered: boolean) => Promise<void>;
}>;

export type SaleWithoutLedger = Readonly<{ kind: "no-ledger"; cause: Error }>;
