import type { SettleResponse } from "@x402/core/types";
import type { FacilitationError } from "../facilitators/facilitation.ts";
import type { SoldResponse } from "../claims/payment-claim.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";

/**
 * Outcome of a sale, for the client:
 * - `sold`: deliver the response, then end the delivery;
 * - `invalid`: the payment was refused, by verification, by settlement, or because it is spent; nothing more was charged;
 * - `pending`: the settlement's outcome is not known yet; the same payment gets it;
 * - `in-progress`: another request with the same payment is being worked on;
 * - `other-request`: the payment bought something else;
 * - `declined`, `failed`: the upstream gave nothing to sell; nothing was charged;
 * - `no-verdict`: the facilitator or the chain gave no verdict; nothing was charged, the same payment may yet buy;
 * - `busy`: too much is under way; nothing was done;
 * - `no-ledger`: the ledger could not be read or written; whatever was begun is found in it later, and the same payment gets it.
 */
export type SaleOutcome = Readonly<
  | { kind: "sold"; response: SoldResponse; settlement: SettleResponse; delivery: Delivery }
  | { kind: "invalid"; reason: string; message?: string | undefined; settlement?: SettleResponse }
  | { kind: "pending"; settlement: SettleResponse }
  | { kind: "in-progress" | "other-request" | "busy" }
  | { kind: "no-verdict"; cause: FacilitationError }
  | SaleWithoutLedger
  | Exclude<UpstreamResult, { kind: "resource" }>
>;

/** Outcome where the ledger could not be used. */
export type SaleWithoutLedger = Readonly<{ kind: "no-ledger"; cause: Error }>;

/** End of a sold response's delivery. One of the two has to be called, once. */
export type Delivery = Readonly<{
  /** The client has got all of it: the payment buys nothing more. */
  delivered: () => Promise<void>;
  /** The client is gone: it may come again with the same payment. */
  undelivered: () => Promise<void>;
}>;
