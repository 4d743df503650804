import type { SettleResponse } from "@x402/core/types";
import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import { namePayment } from "#x402/scheme.ts";
import type { PaymentClaim } from "../claims/payment-claim.ts";

/** Builds the audit entry of a payment charged for a response. */
export function describeCharge(
  { key, route, amount, requirements: { payTo } }: PaymentClaim,
  { transaction }: SettleResponse,
): AuditEntry {
  return {
    action: "payment-charged",
    outcome: "success",
    by: key.payer,
    message: `A payment for ${route} was charged.`,
    payment: namePayment(key),
    before: { state: "settling" },
    after: { state: "settled", transaction, ...key, payTo: payTo.toLowerCase(), amount },
  };
}
