import { hash } from "node:crypto";
import {
  readTransferPayload,
  type TransferPayment,
  describePermit2,
  getPermit2Key,
  hashPermit2Payment,
  type Permit2Payment,
} from "./transfer-payload.ts";
import type { AssetAmount } from "@x402/core/types";
import { convertPriceToAmount } from "./price.ts";
import type { ChargedToken, Scheme, SignedAuthorization } from "./scheme.ts";

/** Scheme `exact`: one signed transfer, with EIP-3009 or Permit2, pays exactly the price. */
export const exact: Scheme<TransferPayment> = {
  name: "exact",
  read: readTransferPayload,
  key(payment, accepted) {
    if ("permit2Authorization" in payment) return getPermit2Key(payment, accepted);
    const { from, nonce } = payment.authorization;
    const { network, asset } = accepted;
    return { network, asset: asset.toLowerCase(), payer: from.toLowerCase(), nonce: nonce.toLowerCase() };
  },
  digest(payment) {
    if ("permit2Authorization" in payment) return hashPermit2Payment(payment);
    const { from, to, value, validAfter, validBefore, nonce } = payment.authorization;
    const parts = [from, to, value, validAfter, validBefore, nonce, payment.signature];
    return hash("sha256", parts.map((part) => part.toLowerCase()).join("\n"));
  },
  expiresAt: (payment) =>
    toSeconds(
      "permit2Authorization" in payment ? payment.permit2Authorization.deadline : payment.authorization.validBefore,
    ),
  async quote(price, token, method) {
    const { ExactEvmScheme } = await import("@x402/evm/exact/server");
    const convert = createMoneyConversion(token);
    const registered = new ExactEvmScheme().registerMoneyParser(async (money, network) => convert(money, network));
    const { amount, asset, extra } = await registered.parsePrice(price, token.network);
    return { amount, asset, extra: { ...extra, ...(method === "permit2" ? { assetTransferMethod: method } : {}) } };
  },
  // No other kind of `exact` offer is paid.
  objectionTo({ extra }) {
    const method = extra?.["assetTransferMethod"] ?? "eip3009";
    if (method !== "eip3009" && method !== "permit2")
      return `transfer method "${String(method)}" is neither EIP-3009 nor Permit2`;
    const flow = extra?.["paymentFlow"] ?? "authorization";
    return flow === "authorization" ? undefined : `payment flow "${String(flow)}" is not "authorization"`;
  },
  async signer(account) {
    const { ExactEvmScheme } = await import("@x402/evm/exact/client");
    return new ExactEvmScheme(account);
  },
  authorization: (payload) =>
    "permit2Authorization" in payload
      ? describePermit2(payload as Permit2Payment)
      : (payload as { authorization: SignedAuthorization }).authorization,
  settling: async () => (await import("./transfer-settling.ts")).settleExact,
};

/**
 * Creates the money conversion of the specification: dollars to `amount`, `asset` and `extra` (`token`, `name`, `version`) on the token's
 * network, null on any other.
 */
export function createMoneyConversion({ network: own, address: asset, name, version, decimals }: ChargedToken) {
  return (price: string | number, network: string): AssetAmount | null =>
    network === own
      ? { amount: convertPriceToAmount(String(price), decimals), asset, extra: { token: name, name, version } }
      : null;
}

/** Converts decimal Unix seconds to a number; an expiry beyond any clock becomes the largest safe integer. */
export function toSeconds(text: string): number {
  const seconds = BigInt(text);
  return seconds > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(seconds);
}
