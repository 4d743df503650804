import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { z } from "zod";
import { batchSettlement } from "#x402/batch-settlement.ts";
import { formatState } from "#x402/batch-settlement/channel-states.ts";
import type { ChannelState } from "#x402/batch-settlement/channel.ts";
import { buyerPayload, type BuyerPayload, type Claim } from "#x402/batch-settlement/payload.ts";
import type { Hex } from "#x402/hex.ts";
import { parsePart } from "#x402/fields.ts";
import type { PresentedPayment } from "../facilitators/facilitation.ts";
import type { Channel, ChannelLedger } from "../claims/channel-ledger.ts";
import type { ChannelAuthorizer } from "./channel-authorizer.ts";
import type { ChannelMetrics } from "./channel-metrics.ts";

/** The parts of a seller that its channels use. `clock` returns Unix time in milliseconds. */
export type ChannelParts = Readonly<{
  ledger: ChannelLedger;
  authorizer: ChannelAuthorizer;
  metrics: Pick<ChannelMetrics, "addUnclaimed">;
  clock: () => number;
  withdrawDelaySeconds: number;
}>;

export type ChannelPayment<Read = BuyerPayload> = Readonly<{
  payment: PresentedPayment;
  read: Read;
  id: Hex;
  requirements: PaymentRequirements;
}>;

/** Reads a buyer's payment, which this process or an earlier one has accepted as well-formed. */
export function readChannelPayment(payment: PresentedPayment, requirements: PaymentRequirements): ChannelPayment {
  const read =
    "scheme" in payment ? (payment.payment as BuyerPayload) : parsePart(buyerPayload, payment.sent.payload, "payload");
  return { payment, read, id: read.voucher.channelId.toLowerCase() as Hex, requirements };
}

export function formatCharged(id: Hex, state: ChannelState, chargedAmount: bigint): Record<string, unknown> {
  return { ...formatState(id, state), chargedCumulativeAmount: String(chargedAmount) };
}

/** Returns a channel's state minus its last signed refund, which anyone can submit until the chain has counted it. */
export function deductRefund({ refund }: Pick<Channel, "refund">, state: ChannelState): ChannelState {
  return { ...state, balance: state.balance - readOpenRefund(refund, state) };
}

/** Returns the latest time, in Unix ms, to start a claim before a payer can withdraw; half of the delay is reserved for the claim. */
export function computeClaimableUntilMs(
  { withdrawRequestedAt }: Pick<ChannelState, "withdrawRequestedAt">,
  withdrawDelay: number,
): number {
  return withdrawRequestedAt === 0 ? Number.POSITIVE_INFINITY : (withdrawRequestedAt + withdrawDelay / 2) * 1_000;
}

/** Returns the amount of a signed refund that the chain has not counted; 0 if there is none. */
export function readOpenRefund(refund: Channel["refund"], { refundNonce }: Pick<ChannelState, "refundNonce">): bigint {
  if (refund === undefined) return 0n;
  const signedPayload = signedRefund.parse(refund.payload);
  return signedPayload.refundNonce >= refundNonce ? signedPayload.amount : 0n;
}

const integer = z.string().transform(BigInt);
const signedRefund = z.object({ refundNonce: integer, amount: integer });

export function buildSellerRequest(
  payload: Record<string, unknown>,
  { network, config }: Pick<Channel, "network" | "config">,
): Readonly<{ payment: Readonly<{ sent: PaymentPayload }>; terms: PaymentRequirements }> {
  const { receiver: payTo, token: asset } = config;
  const scheme = batchSettlement.name;
  const terms = { scheme, network, asset, payTo, amount: "0", maxTimeoutSeconds: 60, extra: {} };
  return { payment: { sent: { x402Version: 2, accepted: terms, payload } }, terms };
}

export function formatClaims(claims: readonly Claim[]) {
  return claims.map(({ voucher: { channel, maxClaimableAmount: max }, signature, totalClaimed }) => ({
    voucher: { channel, maxClaimableAmount: String(max) },
    signature,
    totalClaimed: String(totalClaimed),
  }));
}
