import type { SettleResponse } from "@x402/core/types";
import { readPrice, type SignedPayment } from "./signed-payment.ts";
import { formatAmount } from "#x402/token-amount.ts";

/** Describes a signed payment in lines of at most 80 columns. */
export function describeSignedPayment(payment: SignedPayment): string {
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
export function describeSettlement(settlement: SettleResponse, payment: SignedPayment): string {
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
