import { randomBytes } from "node:crypto";
import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { readPayment, type Payment } from "../sale/payment-header.ts";
import type { Route } from "../routes/route.ts";

/** Offer of a test route. */
export const offer: PaymentRequirements = {
  scheme: "exact",
  network: "eip155:1672",
  amount: "10000",
  asset: "0x00000000000000000000000000000000000000Aa",
  payTo: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  maxTimeoutSeconds: 300,
  extra: { token: "USDC", name: "USDC", version: "2" },
};

/** Route that sells for {@link offer}. */
export const route: Route = {
  key: "GET /data",
  method: "GET",
  path: "/data",
  accepts: [offer],
  description: "Test data",
  mimeType: "application/json",
  upstream: new URL("http://upstream.test/data?fixed=1"),
  token: undefined,
};

/** Returns a time five minutes before the test payments expire, in Unix milliseconds. */
export const paymentsClock = (): number => 3_999_999_700_000;

/** Creates a well-formed payload with a made-up signature; `change` alters the payload. */
export function createPayload(change: (payload: PaymentPayload) => PaymentPayload = (same) => same): PaymentPayload {
  return change({
    x402Version: 2,
    accepted: offer,
    payload: {
      signature: `0x${randomBytes(65).toString("hex")}`,
      authorization: {
        from: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        to: offer.payTo,
        value: offer.amount,
        validAfter: "0",
        validBefore: "4000000000",
        nonce: `0x${randomBytes(32).toString("hex")}`,
      },
    },
  });
}

/** Creates a payment as parsed by the server from its header. */
export function createPayment(from: PaymentPayload = createPayload()): Payment {
  const readResult = readPayment(encodePaymentSignatureHeader(from));
  if (!readResult.ok) throw new Error(readResult.message);
  return readResult.payment;
}
