import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { decodePaymentSignatureHeader } from "@x402/core/http";
import { PaymentPayloadV2Schema } from "@x402/core/schemas";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { z } from "zod";

const quantity = z.string().regex(/^\d{1,78}$/, "expected a whole number in decimal text");

/** What scheme `exact` carries for EIP-3009. */
const exactPayload = z.object({
  signature: z.string().regex(/^0x[0-9a-fA-F]*$/, "expected hexadecimal with 0x"),
  authorization: z.object({
    from: z.string().regex(/^0x[0-9a-fA-F]{40}$/, "expected an address"),
    to: z.string().regex(/^0x[0-9a-fA-F]{40}$/, "expected an address"),
    value: quantity,
    validAfter: quantity,
    validBefore: quantity,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/, "expected 32 bytes in hexadecimal with 0x"),
  }),
});

/** A payment as a client sent it: well formed, nothing of it verified. */
export type Payment = Readonly<{
  payload: PaymentPayload;
  /** Account that pays, lower case. */
  payer: string;
  /** The authorization's nonce, lower case; with payer, asset and network it names the payment (EIP-3009). */
  nonce: string;
  /** Unix seconds. */
  validBefore: number;
  /** SHA-256 of authorization and signature: only who knows the signature can name it. */
  digest: string;
}>;

/** The outcome of reading a PAYMENT-SIGNATURE header. */
export type PaymentReading = Readonly<{ ok: true; payment: Payment } | { ok: false; message: string }>;

/** Reads a PAYMENT-SIGNATURE header (x402 version 2: base64 of a PaymentPayload in JSON). */
export function readPayment(header: string): PaymentReading {
  let decoded: unknown;
  try {
    decoded = decodePaymentSignatureHeader(header);
  } catch {
    return { ok: false, message: "PAYMENT-SIGNATURE is not base64 of JSON" };
  }
  const envelope = PaymentPayloadV2Schema.safeParse(decoded);
  if (!envelope.success) return { ok: false, message: problem(envelope.error.issues, []) };
  const exact = exactPayload.safeParse(envelope.data.payload);
  if (!exact.success) return { ok: false, message: problem(exact.error.issues, ["payload"]) };
  const { authorization, signature } = exact.data;
  const validBefore = BigInt(authorization.validBefore);
  return {
    ok: true,
    payment: {
      payload: decoded as PaymentPayload,
      payer: authorization.from.toLowerCase(),
      nonce: authorization.nonce.toLowerCase(),
      validBefore: validBefore > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(validBefore),
      digest: digestOf([...Object.values(authorization), signature].map((part) => part.toLowerCase())),
    },
  };
}

/** The offer that a payment accepts, or nothing when it is none of ours: all fields count, addresses in any case. */
export function acceptedOffer(
  payment: Payment,
  offers: readonly PaymentRequirements[],
): PaymentRequirements | undefined {
  const accepted = comparable(payment.payload.accepted);
  return offers.find((offer) => isDeepStrictEqual(comparable(offer), accepted));
}

function comparable(requirements: PaymentRequirements): PaymentRequirements {
  const { asset, payTo } = requirements;
  return { ...requirements, asset: asset.toLowerCase(), payTo: payTo.toLowerCase() };
}

function digestOf(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}

function problem(
  issues: readonly Readonly<{ path: readonly PropertyKey[]; message: string }>[],
  root: readonly string[],
): string {
  const [first] = issues;
  const path = [...root, ...(first?.path ?? [])].map(String).join(".");
  return `PAYMENT-SIGNATURE: ${path || "the whole value"}: ${first?.message ?? "not a payment"}`;
}
