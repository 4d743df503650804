import { readChannelCall } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import type { ChannelRefund } from "#x402/scheme.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";

/**
 * Returns why a channel's payee has not earned the gas of a refund: the channel has paid less than the minimum amount for this refund and
 * each earlier one. Otherwise anyone with their own `receiverAuthorizer` could deposit and get everything back at the signer's cost. The
 * payer can still withdraw on chain. A minimum of one unit pays for nothing, so it doesn't apply.
 */
export function rejectUnpaidRefund(
  { asset, claimed: claimedAmount, refunds }: ChannelRefund,
  minAmount: (asset: Hex) => bigint,
): Rejection | undefined {
  const minRefund = minAmount(asset);
  const requiredAmount = minRefund * (refunds + 1n);
  if (minRefund <= 1n || claimedAmount >= requiredAmount) return undefined;
  const message =
    `the channel has paid ${claimedAmount} of the token's smallest units to its payee; but its refund number ${refunds + 1n} needs ${requiredAmount} ` +
    `(the facilitator's assets[].minAmount for each refund). Claim the rest first, withdraw on chain, or send it with an API key.`;
  return { reason: reason.requirements, message };
}

/**
 * Returns why a stranger's claim is too small: each of its vouchers costs gas, although some may claim little or nothing. With this reason,
 * a seller claims fewer at once. As for refunds, a minimum of one unit doesn't apply.
 */
export function rejectSmallClaim(payment: SignedPayment, minAmount: bigint): Rejection | undefined {
  const call = readChannelCall(payment);
  if (call?.kind !== "claim" || minAmount <= 1n) return undefined;
  const required = minAmount * BigInt(call.parts);
  if (payment.amount >= required) return undefined;
  const message = `${call.parts} vouchers claim ${payment.amount} of the token's smallest units, but the minimum for them is ${required} (the facilitator's assets[].minAmount for each); claim fewer at once, or send them with an API key.`;
  return { reason: reason.simulation, message };
}
