import type { PaymentRequirements } from "@x402/core/types";
import { signatureLengthMax } from "../fields.ts";
import { zeroAddress, type Hex } from "../hex.ts";
import { reason, type Rejection } from "../reason.ts";
import type { Transfers } from "../scheme.ts";
import { isSignedBy, parseSignature } from "../signed-payment.ts";
import { rejectDifference } from "../terms.ts";
import { parseWalletSignature } from "../wallet-signature.ts";
import { channelsAddress, computeChannelId, computeVoucherDigest, type ChannelState } from "./channel.ts";
import type { ChannelConfig, ChannelPayload } from "./payload.ts";

type Voucher = Extract<ChannelPayload, { type: "voucher" }>["voucher"];

type ChannelVoucher = Readonly<{ config: ChannelConfig; voucher: Voucher }>;

/** Signed voucher: the max total charged to its channel, and the amount that its deposit adds. */
export type SignedVoucher = Readonly<{ channelId: Hex; max: bigint; isRefund: boolean; added?: bigint }>;

/** Withdrawal delays that the channels' contract allows, in seconds: 15 minutes to 30 days. */
const delays = { min: 900, max: 2_592_000 } as const;

export function readChainId({ network }: Pick<PaymentRequirements, "network">): number {
  return Number(network.split(":")[1]);
}

/** Returns why a channel does not match the requirements (verification rules 1 to 5 of the specification). */
export function rejectConfig(
  { config, voucher }: ChannelVoucher,
  { payTo, asset, extra, network }: PaymentRequirements,
): Rejection | undefined {
  const id = computeChannelId(config, readChainId({ network }));
  const terms = extra as Readonly<Record<string, unknown>> | undefined;
  const authorizer = String(terms?.["receiverAuthorizer"] ?? zeroAddress);
  const delay = terms?.["withdrawDelay"] ?? config.withdrawDelay;
  const compared = [
    ["the id of its terms", voucher.channelId, id, reason.channelId],
    ["receiver", config.receiver, payTo, reason.channelReceiver],
    ["receiverAuthorizer", config.receiverAuthorizer, authorizer, reason.channelAuthorizer],
    ["token", config.token, asset, reason.channelToken],
    ["withdrawDelay", String(config.withdrawDelay), String(delay), reason.channelDelay],
  ] as const;
  const rejection = rejectDifference("the channel's", compared);
  if (rejection !== undefined) return rejection;
  if (config.withdrawDelay >= delays.min && config.withdrawDelay <= delays.max) return undefined;
  const message = `the channel's withdrawDelay is ${config.withdrawDelay} s, expected ${delays.min} to ${delays.max}.`;
  return { reason: reason.channelDelayRange, message };
}

/**
 * Checks that a voucher was signed by the channel's authorizer or, without one, by its payer, whose wallet is called if no key signed.
 *
 * @throws as documented in `Facilitator`.
 */
export async function checkVoucher(
  { config, voucher, isRefund }: ChannelVoucher & Readonly<{ isRefund: boolean }>,
  requirements: Pick<PaymentRequirements, "network">,
  transfers: Pick<Transfers, "isSigned" | "checkWallet">,
): Promise<SignedVoucher | Rejection> {
  const { channelId, maxClaimableAmount: max, signature: text } = voucher;
  const hasAuthorizer = config.payerAuthorizer !== zeroAddress;
  const signer = hasAuthorizer ? config.payerAuthorizer : config.payer;
  const digest = computeVoucherDigest(channelId, max, readChainId(requirements));
  const id: Hex = `0x${Buffer.from(digest).toString("hex")}`;
  const vouched: SignedVoucher = { channelId, max, isRefund };
  const rejection = { reason: reason.voucherSignature, message: `the voucher was not signed by ${signer}.` };
  const signature = parseSignature(text);
  // Two channels have the same id only if they have the same terms, so the id also identifies the signer.
  const callData = text.toLowerCase() as Hex;
  if (signature !== undefined && transfers.isSigned({ id, callData }, () => isSignedBy(signer, digest, signature)))
    return vouched;
  if (hasAuthorizer || text.length > signatureLengthMax) return rejection;
  const wallet = parseWalletSignature(text);
  if (wallet === undefined || wallet.creation !== undefined) return rejection;
  const signed = { id, contract: channelsAddress, payer: config.payer, walletSignature: wallet.signature };
  return (await transfers.checkWallet(signed)) === undefined ? vouched : rejection;
}

/** Returns why a channel's state does not cover a voucher (verification rules 7, 9 and 10 of the specification). */
export function rejectState(
  { channelId, max, isRefund, added = 0n }: SignedVoucher,
  { balance, totalClaimed }: ChannelState,
): Rejection | undefined {
  const available = balance + added;
  if (available === 0n) return { reason: reason.channelUnknown, message: `channel ${channelId} has no balance.` };
  if (max > available) {
    const message = `the voucher is for ${max} in total, but the channel has ${available}; deposit more.`;
    return { reason: reason.voucherAboveBalance, message };
  }
  if (isRefund ? max >= totalClaimed : max > totalClaimed) return undefined;
  const message = `the voucher is for ${max} in total, but ${totalClaimed} is already claimed.`;
  return { reason: reason.voucherClaimed, message };
}
