import { decodePaymentRequiredHeader } from "@x402/core/http";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import type { BodyTarget } from "./body-target.ts";
import type { PayOutcome } from "./exit-status.ts";
import { buildRequest, listAllowedAssets, type PurchaseOptions } from "./pay-options.ts";
import type { PayReport, SignedPayment } from "./pay-report.ts";
import { payingFetch, PaymentRejectedError, type Fetch } from "./paying-fetch.ts";
import { formatError, parseJson, toPlainText } from "./plain-text.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { formatAmount, TokenAmountError } from "#x402/token-amount.ts";
import { type TokenReader, TokenReadError } from "./token-reader.ts";

/** Dependencies of `purchase`. Without an RPC URL, `tokens` is undefined and token decimals come only from the options. */
export type PurchaseDependencies = Readonly<{
  fetch: Fetch;
  tokens: TokenReader | undefined;
  report: PayReport;
  target: BodyTarget;
  signal: AbortSignal | undefined;
}>;

export type PurchaseOutcome = Readonly<{ end: PayOutcome; message?: string | undefined }>;

const tooLittle = /insufficient_(balance|funds)/;
/** Reasons given for a payment whose nonce was already used. */
const nonceUsed = /nonce_already_used|duplicate_settlement/;

/** @throws {TokenAmountError} when a limit has more decimal digits than the token. */
export async function purchase(options: PurchaseOptions, dependencies: PurchaseDependencies): Promise<PurchaseOutcome> {
  const { report, tokens, fetch, signal } = dependencies;
  const paying = payingFetch(
    {
      account: privateKeyToAccount(options.privateKey as `0x${string}`),
      assets: listAllowedAssets(options),
      maxPerPayment: options.maxAmount,
      maxTotal: options.maxTotal ?? options.maxAmount,
      requestTimeoutMs: options.timeoutMs ?? 60_000,
      ...(options.channels === undefined ? {} : { channels: { directory: options.channels } }),
    },
    { fetch, onEvent: report.step, ...(tokens === undefined ? {} : { tokens }) },
  );
  try {
    const response = await paying(options.url, {
      ...buildRequest(options),
      ...(signal === undefined ? {} : { signal }),
    });
    return await judgeAnswer(options, response, dependencies);
  } catch (error) {
    if (error instanceof TokenAmountError) throw error;
    if (error instanceof PaymentRejectedError) {
      return { end: error.code === "insufficient_funds" ? "payment-rejected" : "not-allowed", message: error.message };
    }
    return judgeFailure(options.url, error, dependencies);
  }
}

async function judgeAnswer(
  { url }: PurchaseOptions,
  response: Response,
  { report, target, tokens }: PurchaseDependencies,
): Promise<PurchaseOutcome> {
  const body = await response.bytes();
  report.response(response, body);
  const signed = report.signed();
  if (response.ok && response.status !== 202) return { end: "delivered", message: await target.write(body) };
  const said = `${url} was not delivered: the server returned HTTP ${response.status}`;
  const { error, message: why = report.settlement()?.errorMessage } = readErrorBody(body);
  if (signed === undefined) {
    const because = error === undefined ? "" : ` (${toPlainText(error)})`;
    return { end: "not-delivered", message: `${said}${because}; no payment was signed.` };
  }
  const reason = findRejectionReason(response, report);
  const mayBePaid = report.settlement()?.success === true || (nonceUsed.test(reason) && report.repeats() > 0);
  if (response.status === 402 && !mayBePaid) {
    return {
      end: "payment-rejected",
      message: tooLittle.test(reason)
        ? describeMissingFunds(signed)
        : `${said}: ${reason}${why === undefined ? "" : ` (${toPlainText(why)})`}.`,
    };
  }
  if (response.status === 412 && !mayBePaid && signed.authorization.method === "permit2")
    return { end: "payment-rejected", message: `${said}: ${describeMissingApproval(signed)}` };
  const isRejection = response.status >= 400 && response.status < 500 && !response.headers.has("Retry-After");
  const end = isRejection && !mayBePaid ? "not-delivered" : "perhaps-paid";
  return { end, message: `${said}. ${await describeUnfinishedPayment(signed, tokens)}` };
}

async function judgeFailure(
  url: string,
  error: unknown,
  { report, tokens }: PurchaseDependencies,
): Promise<PurchaseOutcome> {
  const said = `${url} can't be bought: ${formatError(error)}`;
  const signed = report.signed();
  if (signed === undefined) return { end: "not-delivered", message: said };
  return { end: "perhaps-paid", message: `${said}. ${await describeUnfinishedPayment(signed, tokens)}` };
}

/** Returns the server's reason for rejecting the payment: the one in the settlement, otherwise the error in PAYMENT-REQUIRED. */
function findRejectionReason(response: Response, report: PayReport): string {
  const header = response.headers.get("PAYMENT-REQUIRED");
  try {
    const reason = header === null ? undefined : decodePaymentRequiredHeader(header).error;
    return toPlainText(report.settlement()?.errorReason ?? reason ?? "without a reason");
  } catch {
    // An unreadable header is ignored; the status is sufficient.
    return "without a reason";
  }
}

const errorBody = z.object({ error: z.string().optional(), message: z.string().optional() });

/** Reads the seller's error and the facilitator's message about the payment from the body, if present. */
function readErrorBody(body: Uint8Array): Readonly<z.output<typeof errorBody>> {
  return errorBody.safeParse(parseJson(new TextDecoder().decode(body))).data ?? {};
}

function describeMissingFunds({ authorization, network, asset, decimals }: SignedPayment): string {
  return (
    `the balance of account ${authorization.from} in token ${asset} on ${network} is too low: the price is ` +
    `${formatAmount(BigInt(authorization.value), decimals)}, but the seller found less. Top it up; --rpc-url shows the balance.`
  );
}

/** Describes what a payer has to do before a payment by Permit2 (x402 version 2, status 412). */
function describeMissingApproval({ authorization, asset, decimals }: SignedPayment): string {
  const price = formatAmount(BigInt(authorization.value), decimals);
  return (
    `account ${authorization.from} has not approved Permit2 for ${price} of token ${asset}. With --rpc-url, this command signs the approval for a ` +
    "seller that offers to submit it (eip2612GasSponsoring). Otherwise send it yourself, and pay again: " +
    `cast send ${asset} "approve(address,uint256)" ${canonicalContracts.permit2.address} ${authorization.value} --rpc-url <url>`
  );
}

/** Describes what a signed payment may still cost although its resource was not delivered, and until when; queries the chain if possible. */
export async function describeUnfinishedPayment(
  payment: SignedPayment,
  tokens: TokenReader | undefined,
): Promise<string> {
  const { authorization, network, asset, decimals } = payment;
  const what = `The payment of ${formatAmount(BigInt(authorization.value), decimals)} of token ${asset} on ${network}`;
  const name = `account ${authorization.from}, nonce ${authorization.nonce}`;
  // Only a channel's vouchers never end.
  if (authorization.validBefore === "0")
    return `${what} through channel ${authorization.nonce} may have been or may still be charged. Pay again through it: the seller then reports what it charged.`;
  const until = new Date(Number(authorization.validBefore) * 1_000).toISOString();
  switch (await describeNonceUse(payment, tokens)) {
    case true:
      return `${what} was charged (${name}). Ask the seller for the resource; paying again charges you again.`;
    case false:
      return `${what} is not charged yet, but can be until ${until} (${name}). Pay again only after that.`;
    case undefined:
      return (
        `${what} may have been charged, or may still be until ${until} (${name}). Before you pay again, check whether ` +
        `${authorization.method === "permit2" ? "Permit2 has used that nonce (nonceBitmap)" : "the token has used that nonce (authorizationState)"}; ` +
        "with --rpc-url, this command checks it."
      );
  }
}

async function describeNonceUse(
  { authorization, network, asset }: SignedPayment,
  tokens: TokenReader | undefined,
): Promise<boolean | undefined> {
  try {
    return await tokens?.hasTaken({ network, address: asset }, authorization);
  } catch (error) {
    if (error instanceof TokenReadError) return undefined;
    throw error;
  }
}
