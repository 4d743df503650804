import type { PaymentRequirements, SettleResponse } from "@x402/core/types";
import { readReportedState } from "#x402/batch-settlement/channel-states.ts";
import type { BuyerPayload } from "#x402/batch-settlement/payload.ts";
import { readChainId } from "#x402/batch-settlement/voucher.ts";
import type { Hex } from "#x402/hex.ts";
import { readSettleState } from "#x402/payment-result.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import type { PresentedPayment } from "../facilitators/facilitation.ts";
import type { ChannelAuthorizer } from "./channel-authorizer.ts";
import type { Channel, ChannelLedger } from "../claims/channel-ledger.ts";
import {
  buildSellerRequest,
  formatClaims,
  readOpenRefund,
  formatCharged,
  type ChannelParts,
  type ChannelPayment,
} from "./channel-terms.ts";

export type Settle = (payment: PresentedPayment, requirements: PaymentRequirements) => Promise<SettleResponse>;

/**
 * Settles a payment through a channel: charges its sale in the seller's ledger, at most once, after the deposit if it has one; or refunds
 * the channel. The requirements' amount is the amount used. `sale` identifies the sale, also when it is settled again.
 *
 * @throws {FacilitationError | StoreError} when the facilitator or the ledger fails.
 */
export async function settleChannelPayment(
  order: ChannelPayment,
  parts: ChannelParts,
  sale: string,
  settle: Settle,
): Promise<SettleResponse> {
  const { payment, read, id, requirements } = order;
  const { ledger, metrics } = parts;
  if (read.type === "refund") return refundChannel({ ...order, read }, parts, sale, settle);
  const { channelConfig: config, voucher } = read;
  const { network } = requirements;
  const price = payment.sent.accepted.amount;
  let reportedResponse: SettleResponse = { success: true, transaction: "", network, payer: config.payer, amount: "" };
  const amount = BigInt(requirements.amount);
  const { maxClaimableAmount: max, signature } = voucher;
  const chargedBefore = max - BigInt(price);
  if (read.type === "deposit") {
    const response = await settle(payment, { ...requirements, amount: price });
    if (response.success) {
      reportedResponse = response;
      await observe({ id, config, network }, response, ledger);
    } else {
      // A facilitator that no longer has the deposit's outcome rejects it: by then, the sale may have been charged.
      const known = readSettleState(response) === "rejected" && amount > 0n ? await ledger.find(id) : undefined;
      if (known === undefined || !isChargedBefore(known, chargedBefore)) return response;
    }
  }
  const isCharged =
    amount === 0n || (await ledger.charge(id, { before: chargedBefore, amount, max, signature: signature as Hex }));
  if (isCharged) metrics.addUnclaimed({ network, config }, amount);
  const channel = await ledger.find(id);
  if (channel === undefined || (!isCharged && !isChargedBefore(channel, chargedBefore))) {
    const message = "the channel was charged for another request in the meantime; nothing was charged for this one.";
    return reject({ reason: reason.channelTotal, message }, order, reportedResponse.transaction);
  }
  const extra = { chargedAmount: String(amount), channelState: formatCharged(id, channel.state, channel.charged) };
  return { ...reportedResponse, extra };
}

/**
 * Returns whether a sale that can't be charged was already charged by a process that exited before it recorded the charge. Only one claim
 * at a time can follow a total (`batchSettlement.key`), so a higher total includes this sale, unless the total came from the chain.
 */
function isChargedBefore({ charged, adopted }: Channel, chargedBefore: bigint): boolean {
  return charged > chargedBefore && chargedBefore >= adopted;
}

type RefundPayload = Extract<BuyerPayload, { type: "refund" }>;

/** Refunds the uncharged amount that the buyer requests, after claiming the charged amount. */
async function refundChannel(
  order: ChannelPayment<RefundPayload>,
  { ledger, authorizer, metrics, clock }: ChannelParts,
  sale: string,
  settle: Settle,
): Promise<SettleResponse> {
  const { id } = order;
  const channel = await ledger.find(id);
  if (channel === undefined)
    return reject({ reason: reason.channelUnknown, message: `channel ${id} is not known here.` }, order);
  const isStarted = channel.refund?.sale === sale;
  const payload = isStarted ? channel.refund.payload : await signRefund(order, channel, authorizer);
  if (payload === undefined)
    return reject({ reason: reason.nothingToRefund, message: `channel ${id} has nothing to refund.` }, order);
  if (!isStarted) await ledger.beginRefund(id, { sale, payload });
  const { payment, terms } = buildSellerRequest(payload, channel);
  const response = await settle(payment, terms);
  if (!response.success) return response;
  await ledger.claimed(id, channel.charged, clock());
  metrics.addUnclaimed(channel, channel.state.totalClaimed - channel.charged);
  const { state } = (await observe(channel, response, ledger)) ?? channel;
  return { ...response, extra: { channelState: formatCharged(id, state, channel.charged) } };
}

/**
 * Completes a buyer's refund request with the seller's data; undefined if nothing is left to refund. Anyone can submit the refund without
 * its claim, so it must not include the charged amount. Of two refunds with the same nonce, the larger one counts.
 */
async function signRefund(
  { read, id, requirements }: ChannelPayment<RefundPayload>,
  { charged, state, refund }: Channel,
  authorizer: ChannelAuthorizer,
): Promise<Record<string, unknown> | undefined> {
  const { channelConfig, voucher } = read;
  const { balance, totalClaimed, refundNonce } = state;
  const remaining = balance - charged;
  const requestedRefund = [read.amount ?? remaining, readOpenRefund(refund, state)].reduce((a, b) => (a > b ? a : b));
  const amount = requestedRefund < remaining ? requestedRefund : remaining;
  if (amount <= 0n) return undefined;
  const chainId = readChainId(requirements);
  const max = voucher.maxClaimableAmount;
  const signature = voucher.signature as Hex;
  const claim = { voucher: { channel: channelConfig, maxClaimableAmount: max }, signature, totalClaimed: charged };
  const claims = charged > totalClaimed ? [claim] : [];
  return {
    type: read.type,
    channelConfig,
    voucher: { ...voucher, maxClaimableAmount: String(max) },
    amount: String(amount),
    refundNonce: String(refundNonce),
    claims: formatClaims(claims),
    refundAuthorizerSignature: await authorizer.signRefund({ id, config: channelConfig }, refundNonce, amount, chainId),
    ...(claims.length === 0 ? {} : { claimAuthorizerSignature: await authorizer.signClaims(claims, chainId) }),
  };
}

async function observe(
  channel: Pick<Channel, "id" | "config" | "network">,
  { extra }: SettleResponse,
  ledger: Pick<ChannelLedger, "observe">,
): Promise<Channel | undefined> {
  const state = readReportedState(extra?.["channelState"]);
  return state === undefined ? undefined : ledger.observe(channel, state);
}

function reject(
  { reason: errorReason, message: errorMessage }: Rejection,
  { requirements: { network } }: Pick<ChannelPayment, "requirements">,
  transaction = "",
): SettleResponse {
  return { success: false, errorReason, errorMessage, transaction, network };
}
