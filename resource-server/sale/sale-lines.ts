import type { BoundedLog } from "#daemon/log/bounded-log.ts";
import { formatTraceInfo, type RequestTrace } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import { namePayment } from "#x402/scheme.ts";
import type { Payment } from "./payment.ts";
import type { SaleOutcome } from "./sale-outcome.ts";

/** Log lines about requests, limited because any client can cause rejected payments, and a buyer can request the same response again, any number of times. */
export type SaleLines = Readonly<{ sales: BoundedLog; others: BoundedLog; log: Logger }>;

/** Fields common to all log lines of one sale, which relate them to the lines of other services. */
export type SaleInfo = ReturnType<typeof nameSale>;

/** Builds the identifying fields of a sale's log lines. */
export function nameSale(route: string, { key }: Pick<Payment, "key">, trace: RequestTrace) {
  return { route, payment: namePayment(key), payer: key.payer, ...formatTraceInfo(trace) };
}

/** Logs the outcome of a sale. */
export function logOutcome({ sales, others, log }: SaleLines, facts: SaleInfo, outcome: SaleOutcome): void {
  switch (outcome.kind) {
    case "sold":
      return sales.info({ event: "sold", ...facts, transaction: outcome.settlement.transaction }, "sold");
    case "pending":
      return sales.warn(
        { event: "sale-pending", ...facts, transaction: outcome.settlement.transaction },
        "settlement pending",
      );
    case "no-verdict":
      return others.warn(
        { event: "sale-without-verdict", ...facts, cause: outcome.cause.message },
        "no verdict of the facilitator",
      );
    case "no-ledger":
      return others.warn(
        { event: "sale-without-ledger", ...facts, cause: outcome.cause.message },
        "the ledger could not be used",
      );
    case "failed":
      return others.warn({ event: "sale-failed", ...facts, cause: outcome.message }, "nothing to sell");
    case "invalid":
      return others.info(
        { event: "payment-refused", ...facts, reason: outcome.reason, cause: outcome.message },
        "payment refused",
      );
    default:
      return log.debug({ ...facts, outcome: outcome.kind }, "payment not taken");
  }
}
