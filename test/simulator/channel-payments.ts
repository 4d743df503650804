import { hash } from "node:crypto";
import secp256k1 from "secp256k1";
import { Secret } from "#daemon/secrets/secret.ts";
import { createChannelAuthorizer } from "#resource-server/channels/channel-authorizer.ts";
import {
  channelsAddress,
  computeChannelId,
  computeDepositNonce,
  computeVoucherDigest,
  encodeDeposit,
} from "#x402/batch-settlement/channel.ts";
import type { ChannelConfig } from "#x402/batch-settlement/payload.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { zeroAddress, type Hex } from "#x402/hex.ts";
import { formatSignature } from "#x402/signed-payment.ts";
import { computeAuthorizationDigest, encodeAuthorization } from "#x402/typed-data.ts";
import { buildRequirements, separatorOf, toPayment } from "./payments.ts";
import { recordOffer, type SignedOffer } from "./signed-offers.ts";
import { authorizerKey, contractWallet, getAccount, payTo, price, startMs, token, withdrawDelay } from "./wallets.ts";

/** Signs claims and refunds of the seller. */
export const authorizer = createChannelAuthorizer(new Secret(`0x${authorizerKey.toString("hex")}`));

/** Channel that a buyer opens with its first deposit. */
export type MemberChannel = Readonly<{ wallet: string; chain: number; config: ChannelConfig; id: Hex }>;

export function openChannel(wallet: string, chain: number, number: number): MemberChannel {
  const { address: payer } = getAccount(wallet);
  const config: ChannelConfig = {
    payer,
    payerAuthorizer: wallet === contractWallet.name ? zeroAddress : payer,
    receiver: payTo,
    receiverAuthorizer: authorizer.address,
    token: token.address,
    withdrawDelay,
    salt: `0x${hash("sha256", `channel ${number}`)}`,
  };
  return { wallet, chain, config, id: computeChannelId(config, chain) };
}

type Voucher = Readonly<{ max: bigint; signature: Hex }>;
const vouchers = new Map<string, Voucher>();

/** Finds a signed voucher. */
export const findVoucher = (id: Hex, max: bigint): Voucher | undefined => vouchers.get(`${id} ${max}`);

/**
 * Purpose of a payment through a channel: more of the seller's resource, perhaps with a deposit, or a refund of the channel's remaining
 * balance.
 */
export type ChannelTerms = Readonly<{
  /** What the channel has been charged so far. */
  before: bigint;
  deposit?: Readonly<{ amount: bigint; number: number; validSeconds: number }> | undefined;
  isRefund?: boolean;
  identifier?: string | undefined;
}>;

/** Signs a payment through a channel. */
export function signChannelPayment(
  channel: MemberChannel,
  { before, deposit, isRefund = false, identifier }: ChannelTerms,
): SignedOffer {
  const { wallet, chain, config, id } = channel;
  const max = isRefund ? before : before + price;
  const signing = {
    wallet,
    chain,
    method: "channel",
    facilitator: 0,
    number: deposit?.number ?? 1,
    validSeconds: 0,
  } as const;
  const digest = computeVoucherDigest(id, max, chain);
  const signature = signDigest(wallet, digest);
  vouchers.set(`${id} ${max}`, { max, signature });
  const made = deposit && signDeposit(channel, deposit);
  const kind = isRefund ? "refund" : made === undefined ? "voucher" : "deposit";
  const payload = {
    type: kind,
    channelConfig: config,
    voucher: { channelId: id, maxClaimableAmount: String(max), signature },
    ...(made === undefined ? {} : { deposit: made.payload }),
  };
  const requirements = buildRequirements(signing);
  const offer: SignedOffer = {
    name: `${kind} ${deposit?.number ?? ""} on ${before} of ${id.slice(0, 8)}`,
    signing,
    payment: toPayment({ accepted: requirements, payload, identifier }),
    requirements,
    from: config.payer.slice(2).toLowerCase(),
    to: channelsAddress,
    value: deposit?.amount ?? 0n,
    nonce: made?.nonce ?? "0x",
    validBefore: made?.validBefore ?? 0,
    channel: { id, before },
  };
  recordOffer(offer, { digest, signature });
  if (made !== undefined) recordOffer(offer, made);
  return offer;
}

function signDigest(wallet: string, digest: Uint8Array): Hex {
  const { signature, recid } = secp256k1.ecdsaSign(digest, getAccount(wallet).key);
  return formatSignature({ compact: signature, yParity: recid as 0 | 1 });
}

function signDeposit(
  { wallet, chain, config, id }: MemberChannel,
  { amount, number, validSeconds }: NonNullable<ChannelTerms["deposit"]>,
) {
  const [salt, validBefore] = [BigInt(number), startMs / 1_000 + validSeconds];
  const collector = "erc3009Collector";
  const { address: to } = canonicalContracts[collector];
  const nonce = computeDepositNonce(id, salt);
  const terms = { from: config.payer, to, value: amount, nonce, validAfter: 0n, validBefore: BigInt(validBefore) };
  const digest = computeAuthorizationDigest(separatorOf(chain), encodeAuthorization(terms), "receive");
  const signature = signDigest(wallet, digest);
  const wire = { validAfter: "0", validBefore: String(validBefore), salt: String(salt), signature };
  const by = { collector, validAfter: 0n, validBefore: BigInt(validBefore), salt, signature } as const;
  return {
    nonce,
    validBefore,
    digest,
    signature,
    call: { to: channelsAddress, data: encodeDeposit(config, amount, by) },
    payload: { amount: String(amount), authorization: { erc3009Authorization: wire } },
  };
}
