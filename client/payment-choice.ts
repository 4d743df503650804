import type { PaymentRequired, PaymentRequirements } from "@x402/core/types";
import { PaymentRefusedError } from "./payment-refused.ts";
import { formatDollars } from "./token-amount.ts";

/** A token that may be spent. */
export type AllowedAsset = Readonly<{
  /** Chain in CAIP-2 form, e.g. `eip155:1672`. */
  network: string;
  /** The token's contract, 0x and 40 hexadecimal digits. */
  address: string;
}>;

/** What one payment may be. */
export type PaymentLimits = Readonly<{
  assets: readonly AllowedAsset[];
  /** Largest amount of one payment in the token's smallest units. */
  maxPerPayment: bigint;
  /** Longest time that a signed payment may stay valid. */
  maxValiditySeconds: number;
}>;

/**
 * Chooses the cheapest offer that the limits allow. The limits are ours because the SDK's allow its default tokens always, and
 * know no total.
 *
 * @throws {PaymentRefusedError} that says for each offer why it is not paid.
 */
export function choosePayment(paymentRequired: PaymentRequired, limits: PaymentLimits): PaymentRequirements {
  if (paymentRequired.x402Version !== 2) {
    throw new PaymentRefusedError(
      "unsupported_version",
      `the server speaks x402 version ${paymentRequired.x402Version}, this client version 2; nothing was signed.`,
    );
  }
  const judged = paymentRequired.accepts.map((offer) => ({ offer, objection: objectionTo(offer, limits) }));
  const fitting = judged.filter(({ objection }) => objection === undefined).map(({ offer }) => offer);
  const cheapest = fitting.toSorted((a, b) => (BigInt(a.amount) < BigInt(b.amount) ? -1 : 1))[0];
  if (cheapest !== undefined) return cheapest;
  const onlyDear = judged.length > 0 && judged.every(({ objection }) => objection?.code === "over_payment_cap");
  const reasons = judged.map(({ offer, objection }) => `${offer.scheme} on ${offer.network}: ${objection?.text}`);
  throw new PaymentRefusedError(
    onlyDear ? "over_payment_cap" : "no_allowed_offer",
    `no offer of the server may be paid, nothing was signed: ${reasons.join("; ") || "it offers none"}.`,
  );
}

type Objection = Readonly<{ code: "over_payment_cap" | "no_allowed_offer"; text: string }>;

function not(text: string): Objection {
  return { code: "no_allowed_offer", text };
}

function objectionTo(offer: PaymentRequirements, limits: PaymentLimits): Objection | undefined {
  if (offer.scheme !== "exact") return not(`scheme "${offer.scheme}" is not "exact"`);
  if (!limits.assets.some((asset) => asset.network === offer.network)) {
    return not(`the network is not allowed; allow an asset on it to pay there`);
  }
  if (!limits.assets.some((asset) => isSameAsset(asset, offer))) {
    return not(`token ${offer.asset} is not in the list of allowed assets`);
  }
  const method = offer.extra?.["assetTransferMethod"] ?? "eip3009";
  if (method !== "eip3009") return not(`transfer method "${String(method)}" is not EIP-3009`);
  const flow = offer.extra?.["paymentFlow"] ?? "authorization";
  if (flow !== "authorization") return not(`payment flow "${String(flow)}" is not "authorization"`);
  if (!/^\d{1,78}$/.test(offer.amount)) return not(`amount "${offer.amount}" is not a whole number`);
  if (!(offer.maxTimeoutSeconds > 0 && offer.maxTimeoutSeconds <= limits.maxValiditySeconds)) {
    return not(`a validity of ${offer.maxTimeoutSeconds} s is not within 1 to ${limits.maxValiditySeconds} s`);
  }
  if (BigInt(offer.amount) > limits.maxPerPayment) {
    return {
      code: "over_payment_cap",
      text: `costs ${formatDollars(BigInt(offer.amount))}, the cap per payment is ${formatDollars(limits.maxPerPayment)}`,
    };
  }
  return undefined;
}

function isSameAsset(asset: AllowedAsset, offer: PaymentRequirements): boolean {
  return asset.network === offer.network && asset.address.toLowerCase() === offer.asset.toLowerCase();
}
