import type { PaymentRequired, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { describeAllowedMethods, describeMissingRoute } from "#daemon/http/app.ts";
import { reason } from "#x402/reason.ts";
import { paymentIdentifierExtension } from "#x402/payment-identifier.ts";
import type { Route } from "./routes/route.ts";
import type { SaleOutcome } from "./sale/sale-outcome.ts";
import type { SoldResponse } from "./claims/payment-claim.ts";

/** A response; header names from an upstream are in lower case, as is `cache-control` in all responses. */
export type HttpResponse = Readonly<{
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array<ArrayBuffer> | null;
}>;

/** Seconds until a retry: about one block interval; the typical recovery time of a database, facilitator or node. */
const soon = "1";
const afterRecovery = "3";

/** Responses to outcomes that are the same for every payment: status, message, and seconds until a retry. */
const fixedResponses: Readonly<
  Record<
    "in-progress" | "other-request" | "busy" | "no-ledger" | "no-verdict",
    readonly [status: number, message: string, retryAfter?: string]
  >
> = {
  "in-progress": [409, "this payment is being processed; resend it to get the resource.", soon],
  "other-request": [
    409,
    "this payment or its payment-identifier belongs to another request or other terms; send that request, or pay for this one.",
  ],
  busy: [503, "too many payments are being processed; you were not charged, retry.", soon],
  "no-ledger": [
    503,
    "payments can't be recorded now; resend the same payment, it is never charged twice.",
    afterRecovery,
  ],
  "no-verdict": [503, "payments can't be verified now; you were not charged, resend the same payment.", afterRecovery],
};

/**
 * Maps the outcome of a payment to HTTP, for all callers (specification, "States and transitions" and "Errors"; x402 version 2 headers).
 * Never exposes a facilitator's message about itself; its message about a payment is in the body. 402 ({@link requirePayment}) means that
 * this payment buys nothing, and invites another one; if the server can't be sure, it returns another status, so that no client pays a
 * second time for what the first payment may still buy.
 *
 * | outcome | response |
 * |---|---|
 * | no payment | 402, PAYMENT-REQUIRED; 503 while the facilitator settles nothing, or the upstream can't be reached |
 * | rejected, malformed, spent | 402, PAYMENT-REQUIRED with the reason; PAYMENT-RESPONSE if settlement rejected it |
 * | Permit2 not approved by the payer | 412, PAYMENT-REQUIRED |
 * | settlement's outcome unknown | 202, PAYMENT-RESPONSE `settlement_pending` with the transaction, Retry-After |
 * | upstream failed or late, server stopping | 502, 504 or 503, nothing charged |
 * | upstream declined (4xx) | its response, `no-store`, nothing charged |
 * | sold | the resource, PAYMENT-RESPONSE |
 * | any other | see `fixedResponses` |
 */
export function respondWithoutOffer(outcome: Exclude<SaleOutcome, { kind: "invalid" }>): HttpResponse {
  switch (outcome.kind) {
    case "sold":
      return respondSold(outcome.response, outcome.settlement);
    case "declined":
      return respondUpstream(outcome.response, { "cache-control": "no-store" });
    case "failed": {
      const error = `${outcome.message}; you were not charged, and the payment can be reused.`;
      return respondJson(outcome.status, error, outcome.status === 503 ? { "Retry-After": afterRecovery } : {});
    }
    case "pending":
      return respondJson(202, "the settlement is not confirmed yet; resend the same payment to get the resource.", {
        "PAYMENT-RESPONSE": encodeHeader(outcome.settlement),
        "Retry-After": soon,
      });
    default: {
      const [status, message, retryAfter] = fixedResponses[outcome.kind];
      return respondJson(status, message, retryAfter === undefined ? {} : { "Retry-After": retryAfter });
    }
  }
}

/** Responds to any outcome. Without a route that is sold, `unsold` (404) replaces 402 and the 409 for another request. */
export function respondToSale(
  outcome: SaleOutcome,
  offer: Readonly<{ route: Route; url: string }> | undefined,
  unsold: () => HttpResponse,
): HttpResponse {
  if (outcome.kind !== "invalid")
    return outcome.kind === "other-request" && offer === undefined ? unsold() : respondWithoutOffer(outcome);
  if (offer !== undefined) return requirePayment(offer.route, offer.url, outcome.reason, outcome);
  const { settlement } = outcome;
  const base = unsold();
  if (settlement === undefined) return base;
  return { ...base, headers: { ...base.headers, "PAYMENT-RESPONSE": encodeHeader(settlement) } };
}

export function respondNoRoute(method: string, path: string, allowedMethods: readonly string[]): HttpResponse {
  if (allowedMethods.length > 0) {
    const { body, headers } = describeAllowedMethods(allowedMethods);
    return respondJson(405, body.error, headers);
  }
  // Caches may store any other 404 (RFC 9111, section 4.2.2), and would return it to a buyer who collects a purchase from a removed route.
  return respondJson(404, describeMissingRoute(method, path, true), {});
}

/** Responds to a request without a payment while a payment would buy nothing, so that no client signs one. */
export function respondUnsold(why: "payments can't be settled" | "the upstream can't be reached"): HttpResponse {
  return respondJson(503, `${why} now, so no payment is requested; retry later.`, { "Retry-After": afterRecovery });
}

/** Requests payment: 402 with every offer. `error` is an SDK reason or text; a facilitator's message is about the received payment. */
export function requirePayment(
  route: Route,
  url: string,
  error: string,
  { message, settlement, corrected }: Omit<Extract<SaleOutcome, { kind: "invalid" }>, "kind" | "reason"> = {},
): HttpResponse {
  const instructions: PaymentRequired = {
    x402Version: 2,
    error,
    resource: {
      url,
      ...(route.description === undefined ? {} : { description: route.description }),
      ...(route.mimeType === undefined ? {} : { mimeType: route.mimeType }),
    },
    // Placed first, because buyers read the first offer of their scheme.
    accepts: [...(corrected === undefined ? [] : [corrected]), ...route.accepts],
    extensions:
      route.extensions === undefined
        ? paymentIdentifierExtension
        : { ...paymentIdentifierExtension, ...route.extensions },
  };
  const body = {
    error,
    ...(message === undefined ? {} : { message }),
    spendControls: formatSpendControls(route.accepts),
  };
  return answerBody(error === reason.permit2Allowance ? 412 : 402, body, {
    "PAYMENT-REQUIRED": encodeHeader(instructions),
    ...(settlement === undefined ? {} : { "PAYMENT-RESPONSE": encodeHeader(settlement) }),
  });
}

export type RememberedOffers = ReturnType<typeof createOfferMemory>;

const rememberedMax = 256;

/**
 * Creates the requests for payment, and caches them until their route changes, because encoding takes longer than everything else about a
 * request.
 */
export function createOfferMemory({ publicUrl }: Readonly<{ publicUrl: string | undefined }>) {
  const byRoute = new WeakMap<Route, Map<string, HttpResponse>>();
  return (
    route: Route,
    { target, url, isHead }: Readonly<{ target: string; url: string; isHead: boolean }>,
  ): HttpResponse => {
    const responses = byRoute.get(route) ?? new Map<string, HttpResponse>();
    const name = `${isHead ? "HEAD" : "GET"} ${publicUrl === undefined ? url : target}`;
    const knownResponses = responses.get(name);
    if (knownResponses !== undefined) return knownResponses;
    const error = `PAYMENT-SIGNATURE header is required${isHead ? ", with GET" : ""}`;
    const response = requirePayment(route, new URL(target, publicUrl ?? url).href, error);
    if (responses.size === rememberedMax) responses.clear();
    byRoute.set(route, responses.set(name, response));
    return response;
  };
}

function respondSold(response: SoldResponse, settlement: SettleResponse): HttpResponse {
  const givenCacheControl = response.headers.find(([name]) => name === "cache-control")?.[1];
  return respondUpstream(response, {
    "PAYMENT-RESPONSE": encodeHeader(settlement),
    "cache-control": limitToClient(givenCacheControl ?? ""),
  });
}

/** Removes Cache-Control directives that let a shared cache serve a response to clients that have not paid (RFC 9111, section 5.2.2). */
function limitToClient(value: string): string {
  const directives = value.split(",").map((directive) => directive.trim());
  return [...directives.filter((one) => one !== "" && !/^(?:public|private|s-maxage)\b/i.test(one)), "private"].join(
    ", ",
  );
}

function respondUpstream(response: SoldResponse, own: Readonly<Record<string, string>>): HttpResponse {
  const { status } = response;
  // A response whose status forbids a body must be created without one (RFC 9110).
  const body = status === 204 || status === 205 ? null : response.body;
  const type = body === null ? {} : { "content-type": "text/plain; charset=UTF-8" };
  return { status, headers: { ...type, ...Object.fromEntries(response.headers), ...own }, body };
}

/**
 * Encodes an x402 version 2 header: base64-encoded JSON. The SDK's encoder takes ten times the CPU time, and 14 KB of memory for 300 bytes.
 */
function encodeHeader(value: PaymentRequired | SettleResponse): string {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}

function respondJson(status: number, error: string, headers: Readonly<Record<string, string>>): HttpResponse {
  return answerBody(status, { error }, headers);
}

function answerBody(status: number, body: object, headers: Readonly<Record<string, string>>): HttpResponse {
  const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers: { ...jsonHeaders, ...headers }, body: JSON.stringify(body) };
}

/**
 * Formats the line of code that each unmodified SDK client needs before it pays a seller: `@x402/core` and PyPI's `x402` by default pay
 * only in tokens that they know. An asset in several offers is allowed up to the highest price.
 *
 * @returns undefined without offers.
 */
export function formatSpendControls(offers: readonly PaymentRequirements[]) {
  const byAsset = Map.groupBy(offers, ({ network, asset }) => `${network} ${asset.toLowerCase()}`);
  const assets = [...byAsset.values()].map((some) =>
    some.reduce((one, other) => (BigInt(one.amount) < BigInt(other.amount) ? other : one)),
  );
  if (assets.length === 0) return undefined;
  const typescript = assets.map(({ network, asset, amount }) => ({ network, asset, maxAmountPerPayment: amount }));
  const python = assets.map(({ network, asset, amount }) => ({ network, asset, max_amount_per_payment: amount }));
  return {
    typescript: `client.setSpendControls(${JSON.stringify({ allowedAssets: typescript })});`,
    python: `client.set_spend_controls(${JSON.stringify({ allowed_assets: python })})`,
  };
}
