import type { PaymentRequired, PaymentRequirements } from "@x402/core/types";
import type { Scheme } from "#x402/scheme.ts";
import { schemes } from "#x402/schemes.ts";
import { formatAmount, toUnits, type TokenAmount } from "#x402/token-amount.ts";
import { decimalsMax } from "#x402/price.ts";
import type { TokenLocation } from "./token-reader.ts";

/** Default schemes: their payments don't depend on earlier ones. */
export const payingSchemes: readonly Scheme[] = schemes.filter(({ busy }) => busy === undefined);

/** Token that may be spent. Its decimals are never taken from the server being paid. */
export type AllowedAsset = TokenLocation & Readonly<{ decimals?: number }>;

export type PaymentLimits = Readonly<{
  assets: readonly AllowedAsset[];
  maxPerPayment: TokenAmount;
  /** Max validity of a signed payment. */
  maxValiditySeconds: number;
  /** Schemes that may be used; default: all known ones. */
  schemes?: readonly Pick<Scheme, "name" | "objectionTo">[];
}>;

export type ChosenPayment = Readonly<{ offer: PaymentRequirements; decimals: number | undefined }>;

/**
 * Chooses the cheapest offer within the limits, or the server's first offer if the decimals of some tokens are unknown. We enforce our own
 * limits because the SDK always allows its default tokens and has no limit on the total.
 *
 * @throws {PaymentRejectedError} with the reason why each offer was rejected.
 */
export function choosePayment(paymentRequired: PaymentRequired, limits: PaymentLimits): ChosenPayment {
  if (paymentRequired.x402Version !== 2) {
    throw new PaymentRejectedError(
      "unsupported_version",
      `the server uses x402 version ${paymentRequired.x402Version}, but this client supports only version 2; nothing was signed.`,
    );
  }
  const judged = paymentRequired.accepts.map((offer) => ({ offer, objection: findObjection(offer, limits) }));
  const fitting = judged.filter(({ objection }) => objection === undefined);
  const cheapest = findCheapest(fitting.map(({ offer }) => ({ offer, decimals: findDecimals(offer, limits) })));
  if (cheapest !== undefined) return cheapest;
  const isUnknown = judged.some(({ objection }) => objection?.code === "unknown_decimals");
  const onlyDear = judged.length > 0 && judged.every(({ objection }) => objection?.code === "over_payment_cap");
  const reasons = judged.map(({ offer, objection }) => `${offer.scheme} on ${offer.network}: ${objection?.text}`);
  throw new PaymentRejectedError(
    isUnknown ? "unknown_decimals" : onlyDear ? "over_payment_cap" : "no_allowed_offer",
    `none of the server's offers can be paid; nothing was signed: ${reasons.join("; ") || "it has no offers"}.`,
  );
}

type Objection = Readonly<{ code: "over_payment_cap" | "no_allowed_offer" | "unknown_decimals"; text: string }>;

function buildObjection(text: string): Objection {
  return { code: "no_allowed_offer", text };
}

export function findObjection(offer: PaymentRequirements, limits: PaymentLimits): Objection | undefined {
  const { schemes: allowed = payingSchemes } = limits;
  const paying = allowed.find(({ name }) => name === offer.scheme);
  if (paying === undefined) {
    if (schemes.some(({ name }) => name === offer.scheme)) {
      return buildObjection(
        `scheme "${offer.scheme}" pays through a channel; pass --channels <directory> (in code: \`channels\`)`,
      );
    }
    return buildObjection(`scheme "${offer.scheme}" is not ${allowed.map(({ name }) => `"${name}"`).join(" or ")}`);
  }
  if (!limits.assets.some((asset) => asset.network === offer.network)) {
    return buildObjection(
      `the network is not allowed; pass --network ${offer.network} and an --asset on it (in code: \`assets\`)`,
    );
  }
  if (!limits.assets.some((asset) => isSameAsset(asset, offer))) {
    return buildObjection(`token ${offer.asset} is not in the list of allowed assets`);
  }
  const objection = paying.objectionTo(offer);
  if (objection !== undefined) return buildObjection(objection);
  if (!/^\d{1,78}$/.test(offer.amount)) return buildObjection(`amount "${offer.amount}" is not a whole number`);
  if (!(offer.maxTimeoutSeconds > 0 && offer.maxTimeoutSeconds <= limits.maxValiditySeconds)) {
    return buildObjection(
      `a validity of ${offer.maxTimeoutSeconds} s is not within 1 to ${limits.maxValiditySeconds} s`,
    );
  }
  return findCapObjection(BigInt(offer.amount), limits.maxPerPayment, findDecimals(offer, limits));
}

function findCapObjection(price: bigint, cap: TokenAmount, decimals: number | undefined): Objection | undefined {
  if (cap.kind === "tokens" && decimals === undefined) {
    const why = `the token's decimals are unknown, so ${price} smallest units can't be compared with a cap of ${cap.text}`;
    return { code: "unknown_decimals", text: why };
  }
  const capUnits = toUnits(cap, decimals);
  if (price <= capUnits) return undefined;
  const inUnits =
    cap.kind === "units" && decimals !== undefined
      ? ` (${capUnits} smallest units, as a number without a point is)`
      : "";
  const text = `costs ${formatAmount(price, decimals)}, the cap per payment is ${formatAmount(capUnits, decimals)}${inUnits}`;
  return { code: "over_payment_cap", text };
}

/** Returns the cheapest offer. If the tokens differ and the decimals of some are unknown, prices can't be compared, so the first offer is returned. */
function findCheapest(candidates: readonly ChosenPayment[]): ChosenPayment | undefined {
  const tokens = new Set(candidates.map(({ offer }) => `${offer.network} ${offer.asset.toLowerCase()}`));
  if (tokens.size > 1 && candidates.some(({ decimals }) => decimals === undefined)) return candidates[0];
  const price = ({ offer, decimals = 0 }: ChosenPayment) =>
    BigInt(offer.amount) * 10n ** BigInt(decimalsMax - decimals);
  return candidates.toSorted((a, b) => (price(a) < price(b) ? -1 : Number(price(a) > price(b))))[0];
}

/** Returns the decimals of an offer's token from the limits, never from the server. */
export function findDecimals(offer: PaymentRequirements, { assets }: PaymentLimits): number | undefined {
  return assets.find((asset) => isSameAsset(asset, offer))?.decimals;
}

function isSameAsset(asset: AllowedAsset, offer: PaymentRequirements): boolean {
  return asset.network === offer.network && asset.address.toLowerCase() === offer.asset.toLowerCase();
}

/** The client's reasons for not paying. Nothing was signed. */
export type RejectionCode =
  | "no_allowed_offer"
  | "over_payment_cap"
  | "over_total_cap"
  | "unsupported_version"
  | "insufficient_funds"
  | "unknown_decimals"
  | "permit2_not_approved";

/** The offer exceeds the caller's limits or the account's balance; nothing was signed and nothing is owed. */
export class PaymentRejectedError extends Error {
  override readonly name = "PaymentRejectedError";
  readonly code: RejectionCode;

  constructor(code: RejectionCode, message: string) {
    super(message);
    this.code = code;
  }
}
