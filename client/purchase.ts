import { decodePaymentRequiredHeader } from "@x402/core/http";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import type { BodyTarget } from "./body-target.ts";
import type { PayOutcome } from "./exit-status.ts";
import { buildRequest, listAllowedAssets, type PurchaseOptions } from "./pay-options.ts";
import type { PayReport } from "./pay-report.ts";
import type { PaymentEvent } from "./payment-event.ts";
import { openPaymentFile, type PaymentFile } from "./payment-file.ts";
import { createRepeatingFetch, defaultOutcomeTimeoutMs, defaultRequestTimeoutMs } from "./repeating-fetch.ts";
import { readPrice, type SignedPayment } from "./signed-payment.ts";
import { payingFetch, PaymentRejectedError, type Fetch } from "./paying-fetch.ts";
import { formatError, parseJson, toPlainText } from "./plain-text.ts";
import { formatAmount, TokenAmountError } from "#x402/token-amount.ts";
import type { TokenReader } from "./token-reader.ts";
import { describeMissingApproval } from "./permit2-approval.ts";
import { describeUnfinishedPayment } from "./unfinished-payment.ts";

/** Dependencies of `purchase`. Without an RPC URL, `tokens` is undefined and token decimals come only from the options. */
export type PurchaseDependencies = Readonly<{
  fetch: Fetch;
  tokens: TokenReader | undefined;
  report: PayReport;
  target: BodyTarget;
  signal: AbortSignal | undefined;
}>;

export type PurchaseOutcome = Readonly<{ end: PayOutcome; message?: string | undefined }>;

const insufficientFunds = /insufficient_(balance|funds)/;
/** Reasons for rejecting a payment whose nonce was already used; for a deposit, published facilitators report only that it fails. */
const nonceUsed = /nonce_already_used|permit2_invalid_nonce|deposit_simulation_failed|duplicate_settlement/;

/**
 * @throws {TokenAmountError} when a limit has more decimal digits than the token. @throws {PaymentFileError} when `paymentFile` is unusable.
 */
export async function purchase(options: PurchaseOptions, dependencies: PurchaseDependencies): Promise<PurchaseOutcome> {
  const { url, method = "GET", paymentFile: path } = options;
  const file = path === undefined ? undefined : await openPaymentFile(path, { url, method });
  const outcome = await buy(options, dependencies, file).catch(async (error: unknown) => {
    if (file?.saved === undefined) await file?.remove();
    throw error;
  });
  if (file === undefined) return outcome;
  if (outcome.end === "perhaps-paid") {
    const advice = `The payment is in ${path}: the same command resends it, which can't charge again.`;
    return { ...outcome, message: [outcome.message, advice].filter(Boolean).join(" ") };
  }
  await file.remove();
  return outcome;
}

async function buy(
  options: PurchaseOptions,
  dependencies: PurchaseDependencies,
  file: PaymentFile | undefined,
): Promise<PurchaseOutcome> {
  const { signal } = dependencies;
  const init = { ...buildRequest(options), ...(signal === undefined ? {} : { signal }) };
  try {
    const response =
      file?.saved === undefined
        ? await createPayingFetch(options, dependencies, file)(options.url, init)
        : await resend(file.saved, init, { options, ...dependencies });
    return await judgeAnswer(options, response, dependencies);
  } catch (error) {
    if (error instanceof TokenAmountError) throw error;
    if (error instanceof PaymentRejectedError) return judgeRejection(error, dependencies);
    return judgeFailure(`${options.url} can't be bought: ${formatError(error)}`, dependencies);
  }
}

function createPayingFetch(
  options: PurchaseOptions,
  { report, tokens, fetch }: PurchaseDependencies,
  file: PaymentFile | undefined,
): Fetch {
  const onEvent = (event: PaymentEvent) => {
    file?.noteSigned(event);
    report.step(event);
  };
  return payingFetch(
    {
      account: privateKeyToAccount(options.privateKey as `0x${string}`),
      assets: listAllowedAssets(options),
      maxPerPayment: options.maxAmount,
      maxTotal: options.maxTotal ?? options.maxAmount,
      requestTimeoutMs: options.timeoutMs ?? defaultRequestTimeoutMs,
      ...(options.channels === undefined ? {} : { channels: { directory: options.channels } }),
    },
    { fetch: file?.saveSent(fetch) ?? fetch, onEvent, ...(tokens === undefined ? {} : { tokens }) },
  );
}

/** Sends the payment of an earlier run; nothing is signed. */
function resend(
  { header, event }: NonNullable<PaymentFile["saved"]>,
  init: RequestInit,
  { options, report, fetch, signal }: PurchaseDependencies & Readonly<{ options: PurchaseOptions }>,
): Promise<Response> {
  const times = {
    requestTimeoutMs: options.timeoutMs ?? defaultRequestTimeoutMs,
    outcomeTimeoutMs: defaultOutcomeTimeoutMs,
  };
  report.step(event);
  report.step({ type: "payment-repeated", attempt: 0, reason: "an earlier run left its outcome open" });
  const headers = new Headers(init.headers);
  headers.set("PAYMENT-SIGNATURE", header);
  return createRepeatingFetch({ ...times, signal }, { fetch, onEvent: report.step })(options.url, { ...init, headers });
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
  const because = error === undefined ? "" : ` (${toPlainText(error)})`;
  if (signed === undefined) {
    return { end: "not-delivered", message: `${said}${because}; no payment was signed.` };
  }
  const reason = findRejectionReason(response, report);
  const mayBePaid = report.settlement()?.success === true || (nonceUsed.test(reason) && report.repeats() > 0);
  if (response.status === 402 && !mayBePaid) {
    return {
      end: "payment-rejected",
      message: insufficientFunds.test(reason)
        ? describeMissingFunds(signed)
        : `${said}: ${reason}${why === undefined ? "" : ` (${toPlainText(why)})`}.`,
    };
  }
  if (response.status === 412 && !mayBePaid && signed.authorization.method === "permit2") {
    const { asset, decimals, authorization } = signed;
    const approval = { account: authorization.from, asset, amount: authorization.value, decimals };
    return { end: "payment-rejected", message: `${said}: ${describeMissingApproval(approval)}` };
  }
  const isRejection = response.status >= 400 && response.status < 500 && !response.headers.has("Retry-After");
  const judged = isRejection && !mayBePaid ? "not-delivered" : "perhaps-paid";
  const { end, text } = await describeUnfinishedPayment(signed, { end: judged, tokens });
  return { end, message: `${said}${because}. ${text}` };
}

/** Adds to a failure's description what a signed payment may cost. */
export async function judgeFailure(
  said: string,
  { report, tokens }: Pick<PurchaseDependencies, "report" | "tokens">,
): Promise<PurchaseOutcome> {
  const signed = report.signed();
  if (signed === undefined) return { end: "not-delivered", message: said };
  const { end, text } = await describeUnfinishedPayment(signed, { end: "perhaps-paid", tokens });
  return { end, message: `${said}. ${text}` };
}

/** Maps a payment that was not signed to its outcome; without a usable response from the chain, no limit in whole tokens can be checked. */
export function judgeRejection(
  { code, message }: PaymentRejectedError,
  { report, tokens }: Pick<PurchaseDependencies, "report" | "tokens">,
): PurchaseOutcome {
  if (code === "insufficient_funds" || code === "permit2_not_approved") return { end: "payment-rejected", message };
  if (code === "unknown_decimals" && tokens !== undefined)
    return { end: "not-delivered", message: [message, report.unreadReason()].filter(Boolean).join(" ") };
  return { end: "not-allowed", message };
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

function describeMissingFunds(payment: SignedPayment): string {
  const { authorization, network, asset, decimals } = payment;
  return (
    `the balance of account ${authorization.from} in token ${asset} on ${network} is too low: the price is ` +
    `${formatAmount(BigInt(readPrice(payment)), decimals)}, but the seller found less. Top it up; --rpc-url shows the balance.`
  );
}
