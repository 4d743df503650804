import {
  decodePaymentSignatureHeader,
  encodePaymentRequiredHeader,
  encodePaymentResponseHeader,
} from "@x402/core/http";
import type { PaymentPayload, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { privateKeyToAccount } from "viem/accounts";
import type { Fetch } from "../paying-fetch.ts";

export const privateKey = `0x${"11".repeat(32)}` as const;
export const account = privateKeyToAccount(privateKey);

export const asset = {
  network: "eip155:1672",
  address: "0x00000000000000000000000000000000000000aA",
  decimals: 6,
} as const;
export const offer: PaymentRequirements = {
  scheme: "exact",
  network: asset.network,
  amount: "10000",
  asset: asset.address,
  payTo: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  maxTimeoutSeconds: 300,
  extra: { name: "USDC", version: "2" },
};

export const settlement: SettleResponse = {
  success: true,
  transaction: `0x${"ab".repeat(32)}`,
  network: asset.network,
  payer: account.address,
};

export function answerDelivered(): Response {
  return new Response("the goods", { headers: { "PAYMENT-RESPONSE": encodePaymentResponseHeader(settlement) } });
}

/** Creates a server that requests payment with `accepts` and responds to paid requests with `answers` in order; repeats the last answer. */
export function createSeller(
  accepts: PaymentRequirements[] = [offer],
  answers: (() => Response | Promise<Response>)[] = [answerDelivered],
): Readonly<{ fetch: Fetch; payments: PaymentPayload[]; headers: string[] }> {
  const payments: PaymentPayload[] = [];
  const headers: string[] = [];
  const fetch: Fetch = async (input, init) => {
    const request = new Request(input, init);
    const header = request.headers.get("PAYMENT-SIGNATURE");
    if (header === null) {
      const paymentRequired = { x402Version: 2, error: "pay", resource: { url: request.url }, accepts };
      return new Response("{}", {
        status: 402,
        headers: { "PAYMENT-REQUIRED": encodePaymentRequiredHeader(paymentRequired) },
      });
    }
    headers.push(header);
    payments.push(decodePaymentSignatureHeader(header));
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return answer?.() ?? new Response(null, { status: 500 });
  };
  return { fetch, payments, headers };
}
