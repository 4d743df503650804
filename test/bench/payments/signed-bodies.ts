import { randomBytes } from "node:crypto";
import secp256k1 from "secp256k1";
import type { Hex } from "#x402/hex.ts";
import {
  computeAuthorizationDigest,
  computeDomainSeparator,
  encodeAuthorization,
  type Authorization,
} from "#x402/typed-data.ts";
import { testAccount } from "../../support/payments/payment-chain.ts";

const amount = 10_000n;
const chainId = 1_672;
/** Accounts of the test mnemonic; 0 to 2 settle or are paid. */
const payers = Array.from({ length: 7 }, (_, index) => testAccount(index + 3));

/** Signs bodies for `/verify` and `/settle`, each with a different payment, using native code because viem is slow. */
export function signBodies(token: Hex, count: number, validSeconds = 3_000n): readonly string[] {
  const separator = computeDomainSeparator({ address: token, name: "USDC", version: "2", chainId });
  const payTo = testAccount(2).address;
  const now = BigInt(Math.floor(Date.now() / 1_000));
  return Array.from({ length: count }, (_, index) => {
    const payer = payers[index % payers.length] ?? testAccount(1);
    const authorization: Authorization = {
      from: payer.address,
      to: payTo,
      value: amount,
      validAfter: now - 600n,
      validBefore: now + validSeconds,
      nonce: `0x${randomBytes(32).toString("hex")}`,
    };
    const signature = sign(computeAuthorizationDigest(separator, encodeAuthorization(authorization)), payer.privateKey);
    return formatBody(token, authorization, signature);
  });
}

function sign(digest: Uint8Array, privateKey: Hex): Hex {
  const { signature, recid } = secp256k1.ecdsaSign(digest, Buffer.from(privateKey.slice(2), "hex"));
  return `0x${Buffer.from(signature).toString("hex")}${(27 + recid).toString(16)}`;
}

function formatBody(token: Hex, authorization: Authorization, signature: Hex): string {
  const paymentRequirements = {
    scheme: "exact",
    network: `eip155:${chainId}`,
    amount: String(amount),
    asset: token,
    payTo: authorization.to,
    maxTimeoutSeconds: 60,
    extra: { name: "USDC", version: "2" },
  };
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const times = { validAfter: String(validAfter), validBefore: String(validBefore) };
  const payload = { signature, authorization: { from, to, value: String(value), ...times, nonce } };
  const resource = { url: "https://example.com/data", description: "data", mimeType: "application/json" };
  const paymentPayload = { x402Version: 2, resource, accepted: paymentRequirements, payload };
  return JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements });
}

/**
 * Signs bodies that are invalid without a query to the chain: every other one has expired, the rest pay someone else.
 */
export function signInvalidBodies(token: Hex, count: number): readonly string[] {
  const expired = signBodies(token, count, -1n);
  return expired.map((body, index) => (index % 2 === 0 ? body : body.replace(/"to":"0x..../, '"to":"0xdead')));
}
