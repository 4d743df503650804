import { PaymentPayloadV2Schema, PaymentRequirementsV2Schema } from "@x402/core/schemas";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import type { Audience } from "./fields.ts";
import { MalformedPaymentError, parsePart } from "./malformed-payment-error.ts";
import { readPlainPayment, readPlainRequirements } from "./plain-parts.ts";
import type { ReadPayment, Scheme } from "./scheme.ts";

/** Parts common to every x402 version 2 payment, whatever its scheme. */
export type Envelope = Readonly<{
  sent: PaymentPayload;
  accepted: PaymentRequirements;
  payload: Readonly<Record<string, unknown>>;
}>;

/**
 * Control characters, which are rejected because ledgers identify a payment by its network and asset as sent by the client, and PostgreSQL
 * accepts no text with a NUL.
 */
const controlCharacter = /\p{Cc}/u;

/**
 * Parses a payment as sent by a client (x402 version 2, `PaymentPayload`), except for the payload, whose format the scheme defines.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field; `path` is the location of the payment.
 */
export function readEnvelope(sent: unknown, path: string): Envelope {
  const { accepted, payload } = readPlainPayment(sent) ?? parsePart(PaymentPayloadV2Schema, sent, path);
  for (const field of ["network", "asset"] as const) {
    if (!controlCharacter.test(accepted[field])) continue;
    throw new MalformedPaymentError(`accepted.${field}`, "expected text without control characters").within(path);
  }
  return { sent: sent as PaymentPayload, accepted: accepted as PaymentRequirements, payload };
}

/**
 * Parses the requirements that a payment must meet (x402 version 2, `PaymentRequirements`).
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field; `path` is the location of the requirements.
 */
export function readRequirements(sent: unknown, path: string): PaymentRequirements {
  return readPlainRequirements(sent) ?? (parsePart(PaymentRequirementsV2Schema, sent, path) as PaymentRequirements);
}

/**
 * Parses the payload with its scheme.
 *
 * @throws {MalformedPaymentError} as `readEnvelope` does.
 */
export function readBy<Payment>(
  scheme: Scheme<Payment>,
  { sent, accepted, payload }: Envelope,
  { path, audience }: Readonly<{ path: string; audience: Audience }>,
): ReadPayment<Payment> {
  try {
    return { scheme, sent, accepted, payment: scheme.read(payload, audience) };
  } catch (error) {
    if (error instanceof MalformedPaymentError) throw error.within(path === "" ? "payload" : `${path}.payload`);
    throw error;
  }
}
