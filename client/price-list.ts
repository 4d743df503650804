import type { PaymentRequired } from "@x402/core/types";
import { requireFunds, withDecimals } from "./token-metadata.ts";
import { viewOffers, type OfferView } from "./offer-view.ts";
import { buildRequest, listAllowedAssets, type PayOptions } from "./pay-options.ts";
import { choosePayment, payingSchemes, type PaymentLimits, PaymentRejectedError } from "./payment-choice.ts";
import { formatError, parseJson } from "./plain-text.ts";
import { judgeRejection, type PurchaseOutcome, type PurchaseDependencies } from "./purchase.ts";
import { schemes } from "#x402/schemes.ts";
import { privateKeyToAccount } from "viem/accounts";
import { formatAmount, parseTokenAmount, TokenAmountError } from "#x402/token-amount.ts";
import { x402Client, x402HTTPClient } from "@x402/fetch";
import { bufferResponse, defaultRequestTimeoutMs, type Fetch } from "./repeating-fetch.ts";

/** Max validity of a payment signed by the client; see `PayingFetchOptions`. */
const maxValiditySeconds = 3_600;

const noCap = { kind: "units", units: 10n ** 78n } as const;

/** Requests the price of a resource and shows every offer, with any objection to it. Signs nothing. If the resource is free, delivers it. */
export async function listPrices(options: PayOptions, dependencies: PurchaseDependencies): Promise<PurchaseOutcome> {
  const { report, tokens, fetch, signal } = dependencies;
  const { url, timeoutMs = defaultRequestTimeoutMs } = options;
  try {
    const init = {
      ...buildRequest(options),
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]),
    };
    const answer = await requestPrice(url, init, { fetch });
    if (answer.kind === "free") return await deliverFree(options, answer.response, dependencies);
    const { paymentRequired } = answer;
    report.step({ type: "payment-required", url, paymentRequired });
    const limits = await buildLimits(options, paymentRequired, dependencies);
    const offers = await viewOffers(paymentRequired, { limits, tokens, onEvent: report.step });
    report.offers(offers);
    return await judgePrices(options, { paymentRequired, limits, offers }, dependencies);
  } catch (error) {
    if (error instanceof PaymentRejectedError) return judgeRejection(error, dependencies);
    if (error instanceof TokenAmountError) return { end: "usage", message: error.message };
    return { end: "not-delivered", message: `${url} can't be queried: ${formatError(error)}` };
  }
}

async function deliverFree(
  { url, dryRun = false }: PayOptions,
  response: Response,
  { report, target }: PurchaseDependencies,
): Promise<PurchaseOutcome> {
  const body = await response.bytes();
  report.response(response, body);
  if (!response.ok) {
    const message = `${url} was not delivered: the server returned HTTP ${response.status} without requesting a payment.`;
    return { end: "not-delivered", message };
  }
  return { end: "delivered", message: dryRun ? "the server requested no payment." : await target.write(body) };
}

/** Builds the limits from the options. Without tokens, any offered token is allowed; without a cap, any price is allowed. */
async function buildLimits(
  options: PayOptions,
  paymentRequired: PaymentRequired,
  { tokens, report }: PurchaseDependencies,
): Promise<PaymentLimits> {
  const { assets, maxAmount, channels } = options;
  const offered = paymentRequired.accepts.map((offer) => ({ network: offer.network, address: offer.asset }));
  const allowed = assets.length === 0 ? offered : listAllowedAssets(options);
  return {
    assets: await withDecimals(allowed, paymentRequired, { tokens, onEvent: report.step }),
    maxPerPayment: maxAmount === undefined ? noCap : parseTokenAmount(maxAmount),
    maxValiditySeconds,
    ...(channels === undefined ? {} : { schemes }),
  };
}

type Prices = Readonly<{ paymentRequired: PaymentRequired; limits: PaymentLimits; offers: readonly OfferView[] }>;

/** @throws {PaymentRejectedError} when no offer is within the limits, or the account's balance is too low. */
async function judgePrices(
  { dryRun = false, maxAmount, assets, privateKey }: PayOptions,
  { paymentRequired, limits, offers }: Prices,
  { report, tokens }: PurchaseDependencies,
): Promise<PurchaseOutcome> {
  const chosen = choosePayment(paymentRequired, limits);
  const { offer, decimals } = chosen;
  const price = `${formatAmount(BigInt(offer.amount), decimals)} of token ${offer.asset} on ${offer.network}`;
  const isNamed = maxAmount !== undefined && assets.length > 0;
  const mayCheck = tokens !== undefined && privateKey !== undefined && isPaidAtOnce(offer);
  if (isNamed && mayCheck) {
    const { address } = privateKeyToAccount(privateKey as `0x${string}`);
    await requireFunds(chosen, address, { tokens, onEvent: report.step });
  }
  const isChecked = mayCheck && report.unreadReason() === undefined;
  const paid = `Without --dry-run, this command pays it${isChecked ? "" : ", if the account has enough; its balance was not checked"}.`;
  const next = isNamed ? paid : suggestOptions(offers.filter(isPastable));
  return { end: dryRun ? "delivered" : "usage", message: `${price} is requested. Nothing was signed. ${next}` };
}

/** Returns whether the account's own balance must cover the price; a channel may already cover it. */
function isPaidAtOnce({ scheme }: PaymentRequired["accepts"][number]): boolean {
  return payingSchemes.some(({ name }) => name === scheme);
}

/**
 * Returns whether a server's values are strictly well-formed. Otherwise they must not be part of a command that the user pastes into a
 * shell.
 */
function isPastable({ objection, network, asset }: OfferView): boolean {
  return objection === null && /^eip155:\d{1,20}$/.test(network) && /^0x[0-9a-fA-F]{40}$/.test(asset);
}

function suggestOptions([offer]: readonly OfferView[]): string {
  if (offer === undefined) return "";
  const { price, amount, asset, network } = offer;
  const cap = price === null ? amount : price.includes(".") ? price : `${price}.0`;
  const unknown =
    price === null ? " --rpc-url with the chain's JSON-RPC endpoint shows the price in whole tokens." : "";
  return `To pay it, add: --max-amount ${cap} --asset ${asset} --network ${network} --key-file <file>.${unknown}`;
}

/** Response to a request without payment: the server's offers, or the response itself if no payment is required. */
type PriceResponse = Readonly<
  { kind: "price"; paymentRequired: PaymentRequired } | { kind: "free"; response: Response }
>;

/** @throws {Error} when the server is unreachable, or requests payment in a form other than x402. */
async function requestPrice(
  url: string,
  init: RequestInit,
  { fetch }: Readonly<{ fetch: Fetch }>,
): Promise<PriceResponse> {
  const response = await bufferResponse(await fetch(url, init));
  if (response.status !== 402) return { kind: "free", response };
  const text = await response.text();
  const reader = new x402HTTPClient(new x402Client());
  const paymentRequired = reader.getPaymentRequiredResponse((name) => response.headers.get(name), parseJson(text));
  return { kind: "price", paymentRequired };
}
