import { z } from "zod";
import { decimalUint256, fields, signatureLengthMax } from "../fields.ts";
import type { Hex } from "../hex.ts";

const { signature, address, number, nonce: bytes32 } = fields.seller;
const uint256 = fields.seller.uint256
  .transform(BigInt)
  .refine((value) => value < 1n << 256n, "expected a number below 2^256");
/** Signature that is sent to the chain unchanged. */
const signatureBytes = z
  .string()
  .max(signatureLengthMax)
  .regex(/^0x(?:[0-9a-fA-F]{2})*$/, "expected a signature in hexadecimal with 0x")
  .transform((text) => text as Hex);

const uint128Max = (1n << 128n) - 1n;
const amount = number.transform(BigInt).refine((value) => value <= uint128Max, "expected a number below 2^128");
export const channelConfig = z.object({
  payer: address,
  payerAuthorizer: address,
  receiver: address,
  receiverAuthorizer: address,
  token: address,
  withdrawDelay: z.int().min(0).max(0xffffffffff),
  salt: bytes32,
});
const claim = z.object({
  voucher: z.object({ channel: channelConfig, maxClaimableAmount: amount }),
  signature: signatureBytes,
  totalClaimed: amount,
});
const claims = z.array(claim).max(100);
const channel = { channelConfig, voucher: z.object({ channelId: bytes32, maxClaimableAmount: amount, signature }) };
const erc3009Authorization = z.object({
  validAfter: decimalUint256,
  validBefore: decimalUint256,
  salt: uint256,
  signature,
});
const permit2Authorization = z.object({
  from: address,
  permitted: z.object({ token: address, amount }),
  spender: address,
  nonce: uint256,
  deadline: decimalUint256,
  witness: z.object({ channelId: bytes32 }),
  signature,
});
const authorization = z.object({
  erc3009Authorization: erc3009Authorization.optional(),
  permit2Authorization: permit2Authorization.optional(),
});

const deposit = z.object({ type: z.literal("deposit"), ...channel, deposit: z.object({ amount, authorization }) });
const voucher = z.object({ type: z.literal("voucher"), ...channel });
const refund = z.object({ type: z.literal("refund"), ...channel, amount: amount.optional() });

/** Buyers' payloads, without fields that only a seller may add. */
export const buyerPayload = z.discriminatedUnion("type", [deposit, voucher, refund]);

/** Payloads of buyers, and of sellers: `claim`, `settle`, and `refund` with data that only a seller knows. */
export const channelPayload = z.discriminatedUnion("type", [
  deposit,
  voucher,
  refund.extend({
    refundNonce: decimalUint256.optional(),
    claims: claims.optional(),
    refundAuthorizerSignature: signatureBytes.optional(),
    claimAuthorizerSignature: signatureBytes.optional(),
  }),
  z.object({ type: z.literal("claim"), claims: claims.min(1), claimAuthorizerSignature: signatureBytes.optional() }),
  z.object({ type: z.literal("settle"), receiver: address, token: address }),
]);

export type BuyerPayload = Readonly<z.output<typeof buyerPayload>>;

export type ChannelPayload = Readonly<z.output<typeof channelPayload>>;

export type ChannelConfig = Readonly<z.output<typeof channelConfig>>;

/** Voucher of a channel, and how much of it the seller charged. */
export type Claim = Readonly<z.output<typeof claim>>;
