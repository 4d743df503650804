import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import { namePayment } from "#x402/scheme.ts";
import type { Outcome, Settlement } from "./settlement.ts";

/** What the audit log says of a settlement that has come to its end. */
export function auditSettlement(
  { id, payer, payTo, asset, amount, authorizationNonce: nonce }: Settlement,
  outcome: Outcome,
  network: string,
): AuditEntry {
  const isSettled = outcome.state === "settled";
  return {
    action: isSettled ? "payment-settled" : "payment-failed",
    outcome: isSettled ? "success" : "failure",
    by: "facilitator",
    message: isSettled ? "A payment was settled on the chain." : "A payment was not settled.",
    ...(isSettled ? {} : { reason: `${outcome.reason}: ${outcome.message}` }),
    payment: namePayment({ network, asset, payer, nonce }),
    before: { state: "begun" },
    after: {
      state: outcome.state,
      settlement: id,
      transaction: outcome.transaction,
      payer: payer.toLowerCase(),
      payTo: payTo.toLowerCase(),
      asset: asset.toLowerCase(),
      amount,
    },
  };
}
