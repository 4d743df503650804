import { FairSlots } from "#daemon/fair-shares.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { ClaimMovedError } from "../claims/claim-ledger.ts";
import type { Payment } from "./payment-header.ts";
import type { SaleOutcome, SaleWithoutLedger } from "./sale-outcome.ts";
import { sell, type SaleRequest, type SellingParts } from "./sale.ts";

export type Sales = ReturnType<typeof createSales>;

/**
 * Creates the sale of responses. At most `inFlightMax` payments are in flight, shared fairly between clients, each until its delivery
 * ends; at most half of them may await a verdict.
 */
export function createSales(
  { inFlightMax }: Readonly<{ inFlightMax: number }>,
  given: Omit<SellingParts, "unverified">,
) {
  const slots = new FairSlots(inFlightMax);
  const parts = { ...given, unverified: new FairSlots(Math.ceil(inFlightMax / 2)) };
  return {
    sell: async (request: SaleRequest): Promise<SaleOutcome> => {
      const entry = slots.enter(request.client);
      if (!entry.ok) return { kind: "busy" };
      using kept = new DisposableStack();
      kept.use(entry.slot);
      const outcome = await catchLedgerFault(() => sell(request, parts));
      if (outcome.kind !== "sold") return outcome;
      const slot = kept.move();
      const end = async (isDelivered: boolean): Promise<void> => {
        using _slot = slot;
        await outcome.end?.(isDelivered);
      };
      return { ...outcome, end };
    },
    /** Returns whether this exact payment has bought something before, or why that is currently unknown. */
    hasSold: ({ key, digest }: Payment): Promise<boolean | SaleWithoutLedger> =>
      catchLedgerFault(async () => (await parts.ledger.find(key))?.digest === digest),
  };
}

/** Turns an unavailable ledger, or a claim that another process took over meanwhile, into an outcome. */
async function catchLedgerFault<T>(step: () => Promise<T>): Promise<T | SaleWithoutLedger> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof StoreError || error instanceof ClaimMovedError) return { kind: "no-ledger", cause: error };
    throw error;
  }
}
