import { hash } from "node:crypto";
import { buyerPayload, channelPayload, type BuyerPayload, type ChannelPayload } from "./batch-settlement/payload.ts";
import { encodeInteger } from "./hex.ts";
import { parsePart } from "./fields.ts";
import { convertPriceToAmount } from "./price.ts";
import { reason } from "./reason.ts";
import type { Scheme } from "./scheme.ts";
import { hashWords } from "./typed-data.ts";

/**
 * Scheme `batch-settlement`: a deposit into a channel, then vouchers, each for the total that the channel was charged plus the price. The
 * seller keeps the vouchers, and later claims and settles them through its facilitator.
 */
export const batchSettlement: Scheme<ChannelPayload> = {
  name: "batch-settlement",
  isMax: true,
  busy: reason.channelBusy,
  buysNothing: ({ type }) => type === "refund",
  read: (payload, audience) =>
    audience === "client" ? parsePart(buyerPayload, payload, "") : parsePart(channelPayload, payload, ""),
  key(payment, { network, asset, amount }) {
    const { channelConfig, voucher } = requireBuyers(payment);
    // Each charged total allows one more sale, so of two payments for the same total, one is rejected.
    const price = payment.type === "refund" || !/^\d{1,78}$/.test(amount) ? 0n : BigInt(amount);
    const before = BigInt.asUintN(256, voucher.maxClaimableAmount - price);
    const nonce = `0x${hashWords(voucher.channelId.slice(2), encodeInteger(before))}`;
    return { network, asset: asset.toLowerCase(), payer: channelConfig.payer.toLowerCase(), nonce };
  },
  digest(payment) {
    const { type, voucher } = requireBuyers(payment);
    const { erc3009Authorization, permit2Authorization } =
      payment.type === "deposit" ? payment.deposit.authorization : {};
    const deposit = (erc3009Authorization ?? permit2Authorization)?.signature;
    const amount = payment.type === "refund" ? payment.amount : undefined;
    const parts = [type, voucher.channelId, voucher.maxClaimableAmount, voucher.signature, deposit, amount];
    return hash("sha256", parts.map((part) => String(part ?? "").toLowerCase()).join("\n"));
  },
  // A voucher never expires; after its sale's record is deleted, the channel's total rejects it.
  expiresAt: () => 0,
  quote: async (price, { address, name, version, decimals }, method) => ({
    amount: convertPriceToAmount(price, decimals),
    asset: address,
    extra: { name, version, ...(method === "permit2" ? { assetTransferMethod: method } : {}) },
  }),
  objectionTo: ({ extra }) =>
    typeof extra?.["receiverAuthorizer"] === "string" ? undefined : "extra.receiverAuthorizer is missing",
  async signer(account) {
    const { BatchSettlementEvmScheme } = await import("@x402/evm/batch-settlement/client");
    return new BatchSettlementEvmScheme(account);
  },
  authorization(payload) {
    const payment = requireBuyers(parsePart(channelPayload, payload, ""));
    const { channelConfig, voucher } = payment;
    const { payer: from, receiver: to } = channelConfig;
    const total = String(voucher.maxClaimableAmount);
    const deposit = payment.type === "deposit" ? String(payment.deposit.amount) : undefined;
    const channel = { voucher: total, ...(deposit === undefined ? {} : { deposit }) };
    return { from, to, value: deposit ?? total, validAfter: "0", validBefore: "0", nonce: voucher.channelId, channel };
  },
  settling: async () => (await import("./batch-settlement/settling.ts")).createChannelSettling(),
};

function requireBuyers(payment: ChannelPayload): BuyerPayload {
  if ("voucher" in payment) return payment;
  throw new TypeError(`a seller's ${payment.type} is not a payment`);
}
