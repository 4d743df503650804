import type { ServerResponse } from "node:http";
import { createBoundedLog, saleLineLimit } from "#daemon/log/bounded-log.ts";
import { formatTraceInfo, type RequestTrace } from "#daemon/http/request-trace.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import { within } from "#daemon/time.ts";
import { namePayment } from "#x402/payment-identifier.ts";
import type { Payment } from "./sale/payment-header.ts";
import type { SaleOutcome } from "./sale/sale-outcome.ts";

/**
 * Log lines about sales. Their number is limited, because any client can cause rejected payments, and a buyer can request the same response
 * any number of times.
 */
export type SaleLog = ReturnType<typeof createSaleLog>;

export function nameSale(route: string, { key }: Payment, trace: RequestTrace) {
  return { route, payment: namePayment(key), payer: key.payer, ...formatTraceInfo(trace) };
}

type SaleInfo = ReturnType<typeof nameSale>;

export function createSaleLog(log: Logger) {
  const sales = createBoundedLog(log, saleLineLimit);
  const otherLines = createBoundedLog(log);
  return {
    outcome(outcome: SaleOutcome, facts: SaleInfo): void {
      switch (outcome.kind) {
        case "sold":
          return sales.info({ event: "sold", ...facts, transaction: outcome.settlement.transaction }, "sold");
        case "pending": {
          const { transaction } = outcome.settlement;
          return sales.warn({ event: "sale-pending", ...facts, transaction }, "settlement pending");
        }
        case "no-verdict": {
          const cause = outcome.cause.message;
          return otherLines.warn({ event: "sale-without-verdict", ...facts, cause }, "no verdict from the facilitator");
        }
        case "no-ledger": {
          const cause = outcome.cause.message;
          return otherLines.warn({ event: "sale-without-ledger", ...facts, cause }, "the ledger was not available");
        }
        case "failed":
          return otherLines.warn(
            { event: "sale-failed", ...facts, cause: outcome.message },
            `not sold, uncharged: ${outcome.message}`,
          );
        case "invalid": {
          const { reason, message: cause } = outcome;
          return otherLines.info({ event: "payment-rejected", ...facts, reason, cause }, "payment rejected");
        }
        default:
          return log.debug({ ...facts, outcome: outcome.kind }, "payment not accepted");
      }
    },
    interrupted: (err: unknown, facts: SaleInfo) =>
      otherLines.warn(
        { event: "delivery-interrupted", err, ...facts },
        "the client did not receive its response; the same payment gets it again",
      ),
    unrecorded: (err: unknown, facts: SaleInfo) =>
      otherLines.error(
        { event: "delivery-not-recorded", err, ...facts },
        "can't record that a response was delivered; the same payment could get it again",
      ),
  };
}

/** Buffers a response until it has been written to the network, its connection is closed (possibly in favour of others), or a timeout. */
export async function followDelivery(
  outcome: Extract<SaleOutcome, { kind: "sold" | "declined" }>,
  { outgoing, memory, facts }: Readonly<{ outgoing: ServerResponse; memory: ConnectionMemory; facts: SaleInfo }>,
  { lines, deliveryTimeoutMs }: Readonly<{ lines: SaleLog; deliveryTimeoutMs: number }>,
): Promise<void> {
  memory.waits(outcome.response.body.byteLength);
  let isDelivered = true;
  try {
    await within("the delivery", deliveryTimeoutMs, waitForFinish(outgoing));
  } catch (error) {
    isDelivered = false;
    outgoing.destroy();
    if (outcome.kind === "sold") lines.interrupted(error, facts);
  }
  memory[Symbol.dispose]();
  if (outcome.kind === "declined") return;
  try {
    await outcome.end?.(isDelivered);
  } catch (error) {
    lines.unrecorded(error, facts);
  }
}

/** Like `finished` of `node:stream`, which adds a dozen listeners to each response. */
function waitForFinish(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => (outgoing.writableFinished ? resolve() : reject(new Error("the connection was closed")));
    outgoing.once("finish", resolve).once("close", end);
    if (outgoing.destroyed) end();
  });
}
