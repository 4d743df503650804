import { isUtf8 } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { decodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { readBy, readEnvelope } from "#x402/envelope.ts";
import { exact } from "#x402/exact.ts";
import { MalformedPaymentError } from "#x402/fields.ts";
import { nameIdentifier } from "../claims/payment-claim.ts";
import type { ReadPayment } from "#x402/scheme.ts";
import type { PaymentKey } from "#x402/payment-identifier.ts";
import { schemes } from "#x402/schemes.ts";

export type Payment = Readonly<{
  read: ReadPayment;
  /** Identifies the payment; payer and nonce are as claimed by the client, in lower case. */
  key: PaymentKey;
  /** Unix seconds. */
  validBefore: number;
  /** Identifies the signed payment; only a holder of the signature can compute it. */
  digest: string;
  identifier: string | undefined;
}>;

/**
 * Reads a PAYMENT-SIGNATURE header (x402 version 2: base64 of a PaymentPayload in JSON). Parses a payment with an unknown scheme as
 * `exact`, so that an earlier purchase is found by its authorization.
 */
export function readPayment(header: string): Readonly<{ ok: true; payment: Payment } | { ok: false; message: string }> {
  const decodedHeader = decodeHeader(header);
  if (decodedHeader === undefined) return { ok: false, message: "PAYMENT-SIGNATURE is not base64 of JSON in UTF-8" };
  try {
    const envelope = readEnvelope(decodedHeader, "");
    const scheme = schemes.find(({ name }) => name === envelope.accepted.scheme) ?? exact;
    const readResult = readBy(scheme, envelope, { path: "", audience: "client" });
    return { ok: true, payment: buildPayment(readResult) };
  } catch (error) {
    if (!(error instanceof MalformedPaymentError)) throw error;
    return { ok: false, message: `PAYMENT-SIGNATURE: ${error.path || "the whole value"}: ${error.problem}` };
  }
}

/** The SDK's decoder replaces what is not UTF-8. */
function decodeHeader(header: string): unknown {
  try {
    return isUtf8(Buffer.from(header, "base64")) ? decodePaymentSignatureHeader(header) : undefined;
  } catch {
    return undefined;
  }
}

function buildPayment(readResult: ReadPayment): Payment {
  const { scheme, payment, sent } = readResult;
  return {
    read: readResult,
    key: scheme.key(payment, sent.accepted),
    validBefore: scheme.expiresAt(payment),
    digest: scheme.digest(payment),
    identifier: nameIdentifier(sent),
  };
}

/** Returns the offer that a payment accepts; undefined if it is not ours. Compares all fields, addresses case-insensitively. */
export function findAcceptedOffer(
  { read: readResult }: Payment,
  offers: readonly PaymentRequirements[],
): PaymentRequirements | undefined {
  const acceptedOffer = toComparable(readResult.sent.accepted);
  return offers.find((offer) => isDeepStrictEqual(toComparable(offer), acceptedOffer));
}

function toComparable(requirements: PaymentRequirements): PaymentRequirements {
  const { asset, payTo } = requirements;
  return { ...requirements, asset: asset.toLowerCase(), payTo: payTo.toLowerCase() };
}
