import type { SaleOutcome } from "./sale-outcome.ts";
import type { SaleRequest } from "./sale.ts";

/** Sells for at most `inFlightMax` requests at one time; what comes above that is `busy`, and nothing is done for it. */
export function boundedSale(
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
