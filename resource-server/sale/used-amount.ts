import type { PaymentRequirements } from "@x402/core/types";
import { z } from "zod";
import { parseJson } from "#daemon/json-rpc.ts";
import type { SoldResponse } from "../claims/payment-claim.ts";
import type { UpstreamResult } from "../upstream/upstream.ts";
import { convertPriceToAmount, PriceError } from "#x402/price.ts";
import type { ReadPayment } from "#x402/scheme.ts";
import { schemes } from "#x402/schemes.ts";

const overrides = z.object({ amount: z.string() });

const percent = /^(\d{1,3})(?:\.(\d{1,2}))?%$/;
const units = /^\d{1,78}$/;

type UsedWork = Readonly<{ kind: "resource"; response: SoldResponse; amount: string }>;

/** Adds the cost to sold work; fails if the upstream reports anything other than an amount within the offer. */
export function chargeWork(
  result: UpstreamResult,
  offer: PaymentRequirements,
): UsedWork | Exclude<UpstreamResult, { kind: "resource" }> {
  if (result.kind !== "resource") return result;
  const amount = readUsedAmount(result.used, offer);
  if (amount !== undefined) return { kind: "resource", response: result.response, amount };
  return { kind: "failed", status: 502, message: "the upstream's Settlement-Overrides is not an amount of this offer" };
}

/**
 * Returns the amount to settle for an offer, in the token's smallest units: the value of the upstream's header, given in units, percent of
 * the maximum ("12.5%") or dollars ("$0.02"). Without a header, or if the offer has no maximum, returns the whole amount. Undefined when
 * the header can't be read, or exceeds the maximum.
 */
function readUsedAmount(header: string | undefined, offer: PaymentRequirements): string | undefined {
  const isMax = schemes.find(({ name }) => name === offer.scheme)?.isMax ?? false;
  if (!isMax || header === undefined) return offer.amount;
  const text = overrides.safeParse(parseJson(header)).data?.amount;
  const amount = text === undefined ? undefined : convert(text, offer);
  return amount === undefined || amount > BigInt(offer.amount) ? undefined : String(amount);
}

function convert(text: string, { amount, extra: { decimals } }: PaymentRequirements): bigint | undefined {
  const share = percent.exec(text);
  if (share !== null) return (BigInt(amount) * BigInt((share[1] ?? "") + (share[2] ?? "").padEnd(2, "0"))) / 10_000n;
  if (units.test(text)) return BigInt(text);
  if (!text.startsWith("$")) return undefined;
  if (/^\$0+(\.0+)?$/.test(text)) return 0n;
  try {
    return BigInt(convertPriceToAmount(text, typeof decimals === "number" ? decimals : undefined));
  } catch (error) {
    if (error instanceof PriceError) return undefined;
    throw error;
  }
}

/** Returns the result that replaces the work if a payment requests a refund; undefined otherwise. */
export function skipWork({ scheme, payment }: ReadPayment): UpstreamResult | undefined {
  if (scheme.buysNothing?.(payment) !== true) return undefined;
  const body = Buffer.from('{"message":"The channel is refunded; PAYMENT-RESPONSE has the details."}');
  const response = { status: 200, headers: [["content-type", "application/json"]] as const, body };
  return { kind: "resource", response, used: '{"amount":"0"}' };
}
