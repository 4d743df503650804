import type { PaymentEvent } from "./payment-event.ts";
import { amountText } from "#x402/money.ts";

/** Says a step of a payment in words and decoded fields, for a terminal. Shows no signature. */
export function describePaymentEvent(event: PaymentEvent): string {
  switch (event.type) {
    case "payment-required":
      return [`402 Payment Required from ${event.url}`, "PAYMENT-REQUIRED:", indented(event.paymentRequired)].join(
        "\n",
      );
    case "payment-signed": {
      const { authorization, accepted, decimals } = event;
      const what = `${amountText(BigInt(authorization.value), decimals)} of ${accepted.asset} on ${accepted.network}`;
      return [`Signed a payment of ${what} to ${authorization.to}`, indented({ authorization })].join("\n");
    }
    case "chain-unread":
      return `The chain did not tell: ${event.reason}`;
    case "payment-repeated":
      return `Sending the same payment again (attempt ${event.attempt + 1}): ${event.reason}`;
    case "payment-response":
      if (event.settlement === undefined) return `Answer ${event.status} without PAYMENT-RESPONSE`;
      return [`Answer ${event.status}, PAYMENT-RESPONSE:`, indented(event.settlement)].join("\n");
  }
}

function indented(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(/^/gm, "  ");
}
