import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { authorizationTypes } from "@x402/evm";
import { toHex, type Hex } from "viem";
import { client } from "./paying.ts";

/** Differences from a valid payment. Times are in Unix seconds. */
export type PaymentDeviation = Readonly<{ chainId?: number; validBefore?: bigint }>;

/** Signs a PAYMENT-SIGNATURE header for the requirements, as the client of `gatehouse stack` does (EIP-3009). */
export async function signPaymentHeader(
  accepted: PaymentRequirements,
  deviation: PaymentDeviation = {},
): Promise<string> {
  const message = {
    from: client.address,
    to: accepted.payTo as Hex,
    value: BigInt(accepted.amount),
    validAfter: 0n,
    validBefore: deviation.validBefore ?? BigInt(Math.floor(Date.now() / 1000) + 60),
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
  };
  const chainId = deviation.chainId ?? Number(accepted.network.split(":")[1]);
  const signature = await client.signTypedData({
    domain: { name: "USDC", version: "2", chainId, verifyingContract: accepted.asset as Hex },
    types: authorizationTypes,
    primaryType: "TransferWithAuthorization",
    message,
  });
  const authorization = {
    ...message,
    value: String(message.value),
    validAfter: String(message.validAfter),
    validBefore: String(message.validBefore),
  };
  const network = `eip155:${chainId}` as const;
  return encodePaymentSignatureHeader({
    x402Version: 2,
    accepted: { ...accepted, network },
    payload: { signature, authorization },
  });
}
