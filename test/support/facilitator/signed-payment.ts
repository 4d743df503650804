import { randomBytes } from "node:crypto";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { authorizationTypes } from "@x402/evm";
import { encodeFunctionData, parseAbi, parseSignature, toHex, type Address, type Hex } from "viem";
import { testAccount } from "../payments/payment-chain.ts";

/** Changes to an otherwise valid payment of 10,000 smallest units from account 1 to account 2. */
export type PaymentChanges = Readonly<{
  payer?: ReturnType<typeof testAccount>;
  chainId?: number;
  authorization?: Readonly<Partial<Record<"to" | "value" | "validAfter" | "validBefore" | "nonce", string>>>;
  requirements?: Readonly<Partial<PaymentRequirements>>;
  accepted?: Readonly<Partial<PaymentRequirements>>;
  signature?: (signature: Hex) => string;
}>;

export type PaymentBody = Readonly<{
  x402Version: number;
  paymentPayload: PaymentPayload;
  paymentRequirements: PaymentRequirements;
}>;

export const amount = 10_000n;

export async function signPayment(token: Address, changes: PaymentChanges = {}): Promise<PaymentBody> {
  const { payer = testAccount(1), chainId = 1672 } = changes;
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const authorization = {
    from: payer.address,
    to: testAccount(2).address,
    value: String(amount),
    validAfter: String(nowSeconds - 600),
    validBefore: String(nowSeconds + 300),
    nonce: toHex(randomBytes(32)),
    ...changes.authorization,
  };
  const signature = await payer.account.signTypedData({
    domain: { name: "USDC", version: "2", chainId, verifyingContract: token },
    types: authorizationTypes,
    primaryType: "TransferWithAuthorization",
    message: {
      from: authorization.from,
      to: authorization.to as Address,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce as Hex,
    },
  });
  const paymentRequirements: PaymentRequirements = {
    scheme: "exact",
    network: `eip155:${chainId}`,
    amount: String(amount),
    asset: token,
    payTo: testAccount(2).address,
    maxTimeoutSeconds: 60,
    extra: { name: "USDC", version: "2" },
    ...changes.requirements,
  };
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: { ...paymentRequirements, ...changes.accepted },
      payload: { signature: changes.signature?.(signature) ?? signature, authorization },
    },
    paymentRequirements,
  };
}

/** Encodes the call by which anyone may submit an EIP-3009 payment to its token. */
export function encodeSubmission({ paymentPayload }: PaymentBody): Hex {
  const { authorization, signature } = paymentPayload.payload as {
    authorization: Record<"from" | "to" | "value" | "validAfter" | "validBefore" | "nonce", Hex>;
    signature: Hex;
  };
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const { r, s, v = 27n } = parseSignature(signature);
  return encodeFunctionData({
    abi: parseAbi([
      "function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
    ]),
    args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, Number(v), r, s],
  });
}
