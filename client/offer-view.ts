import type { PaymentRequired, PaymentRequirements } from "@x402/core/types";
import { findDecimals, findObjection, type PaymentLimits } from "./payment-choice.ts";
import type { PaymentEvent } from "./payment-event.ts";
import { formatAmount } from "#x402/token-amount.ts";
import type { TokenReader } from "./token-reader.ts";
import { readSymbol } from "./token-metadata.ts";

/** A server's offer as displayed before payment; `null` means unknown. */
export type OfferView = Readonly<{
  scheme: string;
  network: string;
  asset: string;
  payTo: string;
  /** Amount in the token's smallest units, as sent by the server. */
  amount: string;
  price: string | null;
  decimals: number | null;
  symbol: string | null;
  maxTimeoutSeconds: number;
  /** Reason why the limits forbid this payment; null if they allow it. */
  objection: string | null;
}>;

export type OfferCheck = Readonly<{
  limits: PaymentLimits;
  tokens: TokenReader | undefined;
  onEvent: (event: PaymentEvent) => void;
}>;

export function viewOffers({ accepts }: PaymentRequired, look: OfferCheck): Promise<readonly OfferView[]> {
  return Promise.all(accepts.map((offer) => viewOffer(offer, look)));
}

async function viewOffer(offer: PaymentRequirements, { limits, tokens, onEvent }: OfferCheck): Promise<OfferView> {
  const { scheme, network, asset, payTo, amount, maxTimeoutSeconds } = offer;
  const decimals = findDecimals(offer, limits);
  const isKnown = decimals !== undefined && /^\d{1,78}$/.test(amount);
  return {
    scheme,
    network,
    asset,
    payTo,
    amount,
    price: isKnown ? formatAmount(BigInt(amount), decimals) : null,
    decimals: decimals ?? null,
    symbol:
      (isKnown && tokens ? await readSymbol({ network, address: asset }, { tokens, onEvent }) : undefined) ?? null,
    maxTimeoutSeconds,
    objection: findObjection(offer, limits)?.text ?? null,
  };
}

/** Formats an offer as one line, without the server's unverified claims about its token. */
export function formatOffer({ price, symbol, amount, asset, network, payTo, objection, ...terms }: OfferView): string {
  const units = `${amount} smallest units of token ${asset} on ${network}`;
  const named = symbol === null ? "" : ` ${symbol}`;
  const what = price === null ? units : `${price}${named} (${units})`;
  const line = `${what}, to ${payTo}; scheme ${terms.scheme}, valid for ${terms.maxTimeoutSeconds} s`;
  return objection === null ? line : `${line}. Can't be paid: ${objection}`;
}
