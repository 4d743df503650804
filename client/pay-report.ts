import type { SettleResponse } from "@x402/core/types";
import { exitStatus, type PayOutcome } from "./exit-status.ts";
import { formatOffer, type OfferView } from "./offer-view.ts";
import type { PaymentEvent } from "./payment-event.ts";
import { readPrice, readSignedPayment, type SignedPayment } from "./signed-payment.ts";
import { toTerminalText } from "./plain-text.ts";
import { formatAmount } from "#x402/token-amount.ts";

/** Report of one run. Writes steps and messages immediately, and the `--json` document at the end. */
export type PayReport = Readonly<{
  step(event: PaymentEvent): void;
  offers(offers: readonly OfferView[]): void;
  response(response: Response, body: Uint8Array): void;
  signed(): SignedPayment | undefined;
  settlement(): SettleResponse | undefined;
  repeats(): number;
  /** Why the chain could not be read, if it could not. */
  unreadReason(): string | undefined;
  end(end: PayOutcome, message?: string): number;
}>;

type Output = Readonly<{ write(data: string | Uint8Array): unknown }>;

export function formatPayReport(
  { url, json, verbose, file }: Readonly<{ url: string; json: boolean; verbose: boolean; file: string | undefined }>,
  { stdout, stderr, mask }: Readonly<{ stdout: Output; stderr: Output; mask: (text: string) => string }>,
): PayReport {
  const say = (text: string) => stderr.write(`${mask(toTerminalText(text))}\n`);
  let signed: SignedPayment | undefined;
  let settlement: SettleResponse | undefined;
  let repeats = 0;
  let lastReason: string | undefined;
  let unreadReason: string | undefined;
  let offered: readonly OfferView[] = [];
  let answer: object | null = null;

  const document = (end: PayOutcome, message: string | undefined) => ({
    end,
    exitStatus: exitStatus[end],
    message: message === undefined ? null : mask(message),
    url: mask(url),
    offers: offered,
    payment: signed === undefined ? null : buildPaymentDocument(signed),
    settlement: settlement ?? null,
    response: answer,
  });

  return {
    step(event) {
      if (event.type === "payment-signed") signed = readSignedPayment(event);
      if (event.type === "chain-unread") unreadReason = event.reason;
      if (event.type === "payment-response") settlement = event.settlement;
      if (event.type === "payment-repeated") {
        repeats += 1;
        // Report each reason only once, however often the payment is resent.
        if (!verbose && event.reason === lastReason) return;
        lastReason = event.reason;
      }
      say(verbose ? describePaymentEvent(event) : describeInShort(event, signed));
    },
    offers(offers) {
      offered = offers;
      for (const offer of offers) say(`  ${formatOffer(offer)}`);
    },
    response(response, body) {
      const { status, headers } = response;
      answer = {
        status,
        contentType: headers.get("Content-Type"),
        bytes: body.byteLength,
        ...(file === undefined ? buildBodyDocument(body) : { file }),
      };
      say(`Response ${status}: ${body.byteLength} bytes`);
    },
    signed: () => signed,
    settlement: () => settlement,
    repeats: () => repeats,
    unreadReason: () => unreadReason,
    end(end, message) {
      if (message !== undefined) say(`pay: ${message}`);
      if (json) stdout.write(`${JSON.stringify(document(end, message), undefined, 2)}\n`);
      return exitStatus[end];
    },
  };
}

function buildPaymentDocument(payment: SignedPayment): object {
  const { network, asset, decimals, authorization } = payment;
  const { from, to, validBefore, nonce, channel } = authorization;
  const amount = readPrice(payment);
  const price = decimals === undefined ? null : formatAmount(BigInt(amount), decimals);
  const document = { network, asset, amount, price, from, to, nonce, validBefore: Number(validBefore) };
  return { ...document, ...(channel === undefined ? {} : { channel }) };
}

/** Builds the body part of the document: UTF-8 as text, anything else as base64. */
function buildBodyDocument(body: Uint8Array): object {
  try {
    return { body: new TextDecoder("utf-8", { fatal: true }).decode(body) };
  } catch {
    // The body is not UTF-8.
    return { bodyBase64: body.toBase64() };
  }
}

/** Describes a payment step for a terminal, in words and decoded fields. Omits the signature. */
export function describePaymentEvent(event: PaymentEvent): string {
  const { summary, details } = describeInParts(event);
  return [summary, ...details].join("\n");
}

/** Describes a step as summary lines, which fit 80 columns, and the additional lines of the verbose form. */
function describeInParts(event: PaymentEvent): Readonly<{ summary: string; details: readonly string[] }> {
  switch (event.type) {
    case "payment-required": {
      const details = ["PAYMENT-REQUIRED:", formatIndented(event.paymentRequired)];
      return { summary: `402 Payment Required from ${event.url}`, details };
    }
    case "payment-signed": {
      const details = [formatIndented({ authorization: event.authorization })];
      return { summary: describeSignedPayment(readSignedPayment(event)), details };
    }
    case "chain-unread":
      return { summary: `The chain could not be read: ${event.reason}`, details: [] };
    case "payment-repeated":
      return { summary: `Resending the same payment (attempt ${event.attempt + 1}): ${event.reason}`, details: [] };
    case "payment-response":
      return event.settlement === undefined
        ? { summary: `Response ${event.status} without PAYMENT-RESPONSE`, details: [] }
        : { summary: `Response ${event.status}, PAYMENT-RESPONSE:`, details: [formatIndented(event.settlement)] };
  }
}

/** Describes a step briefly; in full if a payment was not settled. */
function describeInShort(event: PaymentEvent, signed: SignedPayment | undefined): string {
  if (event.type !== "payment-response") return describeInParts(event).summary;
  const { settlement } = event;
  return settlement?.success === true && signed !== undefined
    ? describeSettlement(settlement, signed)
    : describePaymentEvent(event);
}

function formatIndented(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replace(/^/gm, "  ");
}

/** Describes a signed payment in lines of at most 80 columns. */
function describeSignedPayment(payment: SignedPayment): string {
  const { authorization, asset, network, isMax } = payment;
  const { to, channel } = authorization;
  const format = (units: string) => formatTokens(units, payment);
  return [
    `Signed a payment of ${isMax ? "up to " : ""}${format(readPrice(payment))} to ${to}`,
    `  token ${asset} on ${network}`,
    ...(channel === undefined ? [] : [`  by the channel's voucher of ${format(channel.voucher)} in total`]),
    ...(channel?.deposit === undefined ? [] : [`  after a deposit of ${format(channel.deposit)} into the channel`]),
  ].join("\n");
}

/** Describes what a successful settlement charged, and its transaction, as reported by the seller. */
function describeSettlement(settlement: SettleResponse, payment: SignedPayment): string {
  const { transaction, network, amount, extra } = settlement;
  const { channel } = payment.authorization;
  const charged = readUnits(channel === undefined ? amount : extra?.["chargedAmount"]);
  const facts = [
    ...(charged === undefined ? [] : [`Charged ${formatTokens(charged, payment)}`]),
    ...(channel === undefined ? [] : [`the channel's voucher is ${formatTokens(channel.voucher, payment)}`]),
    ...(transaction === "" ? ["no transaction"] : []),
  ];
  const verb = channel === undefined ? "Settled" : "Deposited";
  return [
    ...(facts.length === 0 ? [] : [facts.join("; ")]),
    ...(transaction === "" ? [] : [`${verb} on ${network} by transaction`, `  ${transaction}`]),
  ].join("\n");
}

function readUnits(value: unknown): string | undefined {
  return typeof value === "string" && /^\d{1,78}$/.test(value) ? value : undefined;
}

function formatTokens(units: string, { decimals, symbol }: Pick<SignedPayment, "decimals" | "symbol">): string {
  return [formatAmount(BigInt(units), decimals), symbol].filter(Boolean).join(" ");
}
