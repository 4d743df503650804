import type { PaymentKey } from "./scheme.ts";

/** One text for a payment, the same in the ledgers' terms and in the lines of every service that has to do with it. */
export function namePayment({ network, asset, payer, nonce }: PaymentKey): string {
  return [network, asset.toLowerCase(), payer.toLowerCase(), nonce.toLowerCase()].join("|");
}
