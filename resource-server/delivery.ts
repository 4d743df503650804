import type { ServerResponse } from "node:http";
import { formatTraceInfo, type RequestTrace } from "#daemon/http/request-trace.ts";
import type { BoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import { within } from "#daemon/time.ts";
import { namePayment } from "#x402/payment-identifier.ts";
import type { Payment } from "./sale/payment-header.ts";
import type { SaleOutcome } from "./sale/sale-outcome.ts";

/** Log lines about requests, limited because any client can cause rejected payments, and a buyer can request the same response again, any number of times. */
export type SaleLogs = Readonly<{ sales: BoundedLog; others: BoundedLog; log: Logger }>;

/** Fields common to all log lines of one sale, which relate them to the lines of other services. */
type SaleInfo = ReturnType<typeof nameSale>;

/** The sale's response as it is sent, the memory that buffers it, and the fields of its log lines. */
type Sending = Readonly<{ outgoing: ServerResponse; memory: ConnectionMemory; facts: SaleInfo }>;

/** Where a sale is logged, and the max time for a client to receive its response. */
type Reporting = Readonly<{ lines: SaleLogs; deliveryTimeoutMs: number }>;

/** Builds the identifying fields of a sale's log lines. */
export function nameSale(route: string, { key }: Pick<Payment, "key">, trace: RequestTrace) {
  return { route, payment: namePayment(key), payer: key.payer, ...formatTraceInfo(trace) };
}

/** Logs the outcome of a sale, and follows the delivery of its response to the client. */
export function endSale(outcome: SaleOutcome, sending: Sending, reporting: Reporting): void {
  logOutcome(reporting.lines, sending.facts, outcome);
  if (outcome.kind === "sold" || outcome.kind === "declined") void followDelivery(outcome, sending, reporting);
  else sending.memory[Symbol.dispose]();
}

function logOutcome({ sales, others, log }: SaleLogs, facts: SaleInfo, outcome: SaleOutcome): void {
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
        "no verdict from the facilitator",
      );
    case "no-ledger":
      return others.warn(
        { event: "sale-without-ledger", ...facts, cause: outcome.cause.message },
        "the ledger was not available",
      );
    case "failed":
      return others.warn({ event: "sale-failed", ...facts, cause: outcome.message }, "nothing to sell");
    case "invalid":
      return others.info(
        { event: "payment-refused", ...facts, reason: outcome.reason, cause: outcome.message },
        "payment refused",
      );
    default:
      return log.debug({ ...facts, outcome: outcome.kind }, "payment not accepted");
  }
}

/**
 * Ends a delivery when the whole response is written to the network, the connection is closed (possibly in favour of other clients), or on
 * timeout. Buffers the response until then.
 */
async function followDelivery(
  given: Extract<SaleOutcome, { kind: "sold" | "declined" }>,
  { outgoing, memory, facts }: Sending,
  { lines, deliveryTimeoutMs }: Reporting,
): Promise<void> {
  memory.waits(given.response.body.byteLength);
  const broken = await waitForEnd(outgoing, deliveryTimeoutMs);
  memory[Symbol.dispose]();
  if (given.kind === "declined") return;
  const { delivery } = given;
  if (broken !== undefined) {
    lines.others.warn(
      { event: "delivery-interrupted", err: broken, ...facts },
      "the client did not receive its response; the same payment gets it again",
    );
  }
  try {
    await (broken === undefined ? delivery.delivered() : delivery.undelivered());
  } catch (error) {
    lines.others.error(
      { event: "delivery-not-recorded", err: error, ...facts },
      "can't record that a response was delivered; the same payment could get it again",
    );
  }
}

/** Waits until a response is sent. Returns the error if sending failed; the connection is closed then. */
async function waitForEnd(outgoing: ServerResponse, deliveryTimeoutMs: number): Promise<unknown> {
  try {
    await within("the delivery", deliveryTimeoutMs, waitForFinish(outgoing));
    return undefined;
  } catch (error) {
    outgoing.destroy();
    return error;
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
