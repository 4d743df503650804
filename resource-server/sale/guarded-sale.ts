import type { FairSlots } from "#daemon/fair-shares.ts";
import type { Payment } from "./payment-header.ts";
import type { Delivery, SaleOutcome, SaleWithoutLedger } from "./sale-outcome.ts";
import type { SaleRequest } from "./sale.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { ClaimMovedError, type ClaimLedger } from "../claims/claim-ledger.ts";

/**
 * Limits sales to the available slots, shared fairly between clients; requests over the limit are `busy`, and nothing is done for them. A
 * sold response occupies its slot until its delivery ends.
 */
export function limitSales(
  slots: Pick<FairSlots, "enter">,
  sell: (request: SaleRequest) => Promise<SaleOutcome>,
): (request: SaleRequest) => Promise<SaleOutcome> {
  return async (request) => {
    const entry = slots.enter(request.client);
    if (!entry.ok) return { kind: "busy" };
    using kept = new DisposableStack();
    kept.use(entry.slot);
    const outcome = await sell(request);
    return outcome.kind === "sold" ? { ...outcome, delivery: keepUntilEnd(outcome.delivery, kept.move()) } : outcome;
  };
}

/** Wraps a delivery so that its end also disposes of `kept`. */
function keepUntilEnd(delivery: Delivery, kept: Disposable): Delivery {
  return {
    async delivered() {
      using _kept = kept;
      await delivery.delivered();
    },
    async undelivered() {
      using _kept = kept;
      await delivery.undelivered();
    },
  };
}

/** Wraps `sell` so that an unavailable ledger, or a claim that another process took over meanwhile, becomes an outcome. */
export function guardSale(
  sell: (request: SaleRequest) => Promise<SaleOutcome>,
): (request: SaleRequest) => Promise<SaleOutcome> {
  return async (request) => {
    try {
      return await sell(request);
    } catch (error) {
      if (error instanceof StoreError || error instanceof ClaimMovedError) return { kind: "no-ledger", cause: error };
      throw error;
    }
  };
}

/** Creates a function that returns whether a payment has a claim, in any state. */
export function createClaimSearch(
  ledger: Pick<ClaimLedger, "find">,
): (payment: Payment) => Promise<boolean | SaleWithoutLedger> {
  return async ({ key, digest }) => {
    try {
      return (await ledger.find(key))?.digest === digest;
    } catch (error) {
      if (error instanceof StoreError) return { kind: "no-ledger", cause: error };
      throw error;
    }
  };
}
