import type { ClaimLedger } from "../claims/claim-ledger.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";
import type { PaymentOwners } from "../claims/payment-owners.ts";
import type { SaleOutcome } from "./sale-outcome.ts";

/** Creates the outcome of a charged claim; its payment stays owned until the delivery ends. */
export function createSoldOutcome(
  { key, response, settlement }: PaymentClaim,
  {
    ledger,
    owners,
  }: Readonly<{ ledger: Pick<ClaimLedger, "delivered" | "disown">; owners: Pick<PaymentOwners, "release"> }>,
): SaleOutcome {
  if (response === undefined || settlement === undefined) throw new TypeError("a settled claim without its response");
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
