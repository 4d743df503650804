import { StoreError } from "#daemon/sql/store-error.ts";
import { ClaimMovedError } from "../claims/claim-moved-error.ts";
import type { SaleOutcome } from "./sale-outcome.ts";
import type { SaleRequest } from "./sale.ts";

/** Sells, and makes an outcome of a ledger that can't be used or of a claim that another process took over meanwhile. */
export function saleWithoutLedger(
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
