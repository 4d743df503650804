import type { PaymentRequirements } from "@x402/core/types";
import secp256k1 from "secp256k1";
import { privateKeyToAddress } from "viem/accounts";
import { Secret } from "#daemon/secrets/secret.ts";
import { computeChannelId, computeVoucherDigest } from "#x402/batch-settlement/channel.ts";
import type { ChannelConfig } from "#x402/batch-settlement/payload.ts";
import type { Hex } from "#x402/hex.ts";
import { createChannelAuthorizer } from "../channels/channel-authorizer.ts";
import type { PresentedPayment } from "../facilitators/facilitation.ts";

const key = Buffer.alloc(32, 0x59);
const chainId = 1_672;

/** Account that pays through the channel and signs its vouchers. */
export const payer = privateKeyToAddress(`0x${key.toString("hex")}`);
export const authorizer = createChannelAuthorizer(new Secret(`0x${"11".repeat(32)}`));
export const withdrawDelay = 900;

/** Offer of 10 units, which the channel pays. */
export const offer: PaymentRequirements = {
  scheme: "batch-settlement",
  network: `eip155:${chainId}`,
  asset: `0x${"22".repeat(20)}`,
  payTo: `0x${"33".repeat(20)}`,
  amount: "10",
  maxTimeoutSeconds: 60,
  extra: { receiverAuthorizer: authorizer.address, withdrawDelay, name: "USDC", version: "2" },
};

export const config: ChannelConfig = {
  payer,
  payerAuthorizer: payer,
  receiver: offer.payTo as Hex,
  receiverAuthorizer: authorizer.address,
  token: offer.asset as Hex,
  withdrawDelay,
  salt: `0x${"00".repeat(32)}`,
};

export const id = computeChannelId(config, chainId);

/** Signs a payment through the channel; `amount` is the refund to request. */
export function sign(type: "voucher" | "refund", max: bigint, amount?: bigint): PresentedPayment {
  const { signature, recid } = secp256k1.ecdsaSign(computeVoucherDigest(id, max, chainId), key);
  const hex = `0x${Buffer.from(signature).toString("hex")}${(27 + recid).toString(16)}`;
  const voucher = { channelId: id, maxClaimableAmount: String(max), signature: hex };
  const requestedAmount = amount === undefined ? {} : { amount: String(amount) };
  return {
    sent: { x402Version: 2, accepted: offer, payload: { type, channelConfig: config, voucher, ...requestedAmount } },
  };
}
