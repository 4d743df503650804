import { hash } from "node:crypto";
import { readPayload, type ExactPayment } from "./exact/payload.ts";
import type { Scheme, SignedAuthorization } from "./scheme.ts";

/** Scheme `exact` with EIP-3009, in the payment flow `authorization`: one signed transfer pays exactly the price. */
export const exact: Scheme<ExactPayment> = {
  name: "exact",
  read: readPayload,
  key: ({ authorization: { from, nonce } }, { network, asset }) => ({
    network,
    asset: asset.toLowerCase(),
    payer: from.toLowerCase(),
    nonce: nonce.toLowerCase(),
  }),
  digest({ signature, authorization }) {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const parts = [from, to, value, validAfter, validBefore, nonce, signature].map((part) => part.toLowerCase());
    return hash("sha256", parts.join("\n"));
  },
  expiresAt({ authorization }) {
    const validBefore = BigInt(authorization.validBefore);
    return validBefore > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(validBefore);
  },
  async quote(price, token) {
    const { createExactScheme } = await import("./exact/money-conversion.ts");
    const { amount, asset, extra } = await createExactScheme(token).parsePrice(price, token.network);
    return { amount, asset, extra: extra ?? {} };
  },
  // No other offer of the scheme `exact` is paid.
  objectionTo({ extra }) {
    const method = extra?.["assetTransferMethod"] ?? "eip3009";
    if (method !== "eip3009") return `transfer method "${String(method)}" is not EIP-3009`;
    const flow = extra?.["paymentFlow"] ?? "authorization";
    return flow === "authorization" ? undefined : `payment flow "${String(flow)}" is not "authorization"`;
  },
  async signer(account) {
    const { ExactEvmScheme } = await import("@x402/evm/exact/client");
    return new ExactEvmScheme(account);
  },
  authorization: (payload) => (payload as { authorization: SignedAuthorization }).authorization,
  settling: async () => (await import("./exact/settling.ts")).settleExact,
};
