import type { SignedAuthorization } from "#x402/scheme.ts";
import type { PaymentEvent } from "./payment-event.ts";

/** A signed payment without its signature; `decimals` and `symbol` are undefined if unknown. */
export type SignedPayment = Readonly<{
  network: string;
  asset: string;
  /** The offer's price, in smallest units. */
  amount: string;
  /** Whether less than the price may be charged. */
  isMax: boolean;
  decimals: number | undefined;
  symbol: string | undefined;
  authorization: SignedAuthorization;
}>;

export function readSignedPayment(event: Extract<PaymentEvent, { type: "payment-signed" }>): SignedPayment {
  return { ...event.accepted, ...event };
}

/** Returns the max amount that a payment may charge, in smallest units: a channel's voucher also covers earlier charges. */
export function readPrice({ authorization, amount }: Pick<SignedPayment, "authorization" | "amount">): string {
  return authorization.channel === undefined ? authorization.value : amount;
}
