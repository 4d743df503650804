import { hash } from "node:crypto";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import * as Address from "ox/Address";
import * as PublicKey from "ox/PublicKey";
import secp256k1 from "secp256k1";
import { exact } from "#x402/exact.ts";
import { readBy, readEnvelope } from "#x402/envelope.ts";
import type { Hex } from "#x402/hex.ts";
import { computeAuthorizationDigest, computeDomainSeparator, encodeAuthorization } from "#x402/typed-data.ts";
import type { Payment } from "#resource-server/sale/payment.ts";

/** Time at which each run starts; payments are signed for it, so that runs share them. */
export const startMs = 1_800_000_000_000;

export const chainId = 31_337;
export const token = { address: `0x${"a5".repeat(20)}`, name: "USDC", version: "2" } as const;
export const separator = computeDomainSeparator({ ...token, chainId });
export const signerKey = "51".repeat(32);
const payTo: Hex = `0x${"02".repeat(20)}`;
export const price = 1_000n;

export const requirements: PaymentRequirements = {
  scheme: "exact",
  network: `eip155:${chainId}`,
  amount: String(price),
  asset: token.address,
  payTo,
  maxTimeoutSeconds: 300,
  extra: { name: token.name, version: token.version },
};

/** Buyers, by what they hold: enough, enough for one payment and a half, and nothing. */
export const wallets = ["rich", "rich too", "tight", "empty"] as const;
export type Wallet = (typeof wallets)[number];
const held: Readonly<Record<Wallet, bigint>> = {
  rich: 10n ** 9n,
  "rich too": 10n ** 9n,
  tight: (price * 3n) / 2n,
  empty: 0n,
};

const accounts = Object.fromEntries(wallets.map((wallet) => [wallet, createAccount(wallet)])) as Record<
  Wallet,
  Readonly<{ key: Buffer; address: Hex }>
>;

/** Balances in the token, by address without prefix. */
export const balances: ReadonlyMap<string, bigint> = new Map(
  wallets.map((wallet) => [accounts[wallet].address.slice(2), held[wallet]]),
);

function createAccount(name: string): Readonly<{ key: Buffer; address: Hex }> {
  const key = hash("sha256", name, "buffer");
  const publicKey = Buffer.from(secp256k1.publicKeyCreate(key, false)).toString("hex");
  return { key, address: Address.fromPublicKey(PublicKey.fromHex(`0x${publicKey}`)) };
}

/** Signed payment as its buyer sends it, with what identifies it on the chain. */
export type SignedOffer = Readonly<{ payment: Payment; wallet: Wallet; from: string; nonce: Hex; validBefore: number }>;

type Signing = Readonly<{
  wallet: Wallet;
  /** Payments with the same number have the same authorization nonce. */
  number: number;
  validSeconds: number;
  /** Payment-identifier. */
  identifier?: string | undefined;
}>;

const signed = new Map<string, SignedOffer>();

/** Signs a payment, once for all runs. */
export function signOffer(signing: Signing): SignedOffer {
  const name = JSON.stringify(signing);
  const known = signed.get(name) ?? sign(signing);
  signed.set(name, known);
  return known;
}

function sign({ wallet, number, validSeconds, identifier }: Signing): SignedOffer {
  const { key, address: from } = accounts[wallet];
  const nonce: Hex = `0x${hash("sha256", `nonce ${number}`)}`;
  const validBefore = startMs / 1_000 + validSeconds;
  const authorization = { from, to: payTo, value: price, validAfter: 0n, validBefore: BigInt(validBefore), nonce };
  const digest = computeAuthorizationDigest(separator, encodeAuthorization(authorization));
  const { signature, recid } = secp256k1.ecdsaSign(digest, key);
  const wire = { from, to: payTo, value: String(price), validAfter: "0", validBefore: String(validBefore), nonce };
  const sent: PaymentPayload = {
    x402Version: 2,
    accepted: requirements,
    payload: {
      signature: `0x${Buffer.from(signature).toString("hex")}${(27 + recid).toString(16)}`,
      authorization: wire,
    },
    ...(identifier === undefined ? {} : { extensions: { "payment-identifier": { info: { id: identifier } } } }),
  };
  const read = readBy(exact, readEnvelope(sent, ""), { path: "", audience: "client" });
  const payment = { read, key: exact.key(read.payment, requirements), validBefore, digest: exact.digest(read.payment) };
  return { payment, wallet, from: from.slice(2), nonce, validBefore };
}
