import type { SaleOutcome } from "./sale-outcome.ts";
import type { SaleRequest } from "./sale.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { ClaimMovedError } from "../claims/claim-ledger.ts";

/** Sells for at most `inFlightMax` requests at one time; what comes above that is `busy`, and nothing is done for it. */
export function boundSale(
  inFlightMax: number,
  sell: (request: SaleRequest) => Promise<SaleOutcome>,
): (request: SaleRequest) => Promise<SaleOutcome> {
  let inFlight = 0;
  return async (request) => {
    if (inFlight >= inFlightMax) return { kind: "busy" };
    inFlight += 1;
    try {
      return await sell(request);
    } finally {
      inFlight -= 1;
    }
  };
}

/** Sells, and makes an outcome of a ledger that can't be used or of a claim that another process took over meanwhile. */
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
