import { PaymentPayloadV2Schema, PaymentRequirementsV2Schema } from "@x402/core/schemas";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { MalformedPaymentError, parsePart } from "./malformed-payment-error.ts";
import type { Audience, ReadPayment, Scheme } from "./scheme.ts";

/** Fields of a request to a facilitator that hold the parts of a payment. */
export const paths = { payment: "paymentPayload", requirements: "paymentRequirements" } as const;

/** Parts that every payment of x402 version 2 has, whatever its scheme. */
export type Envelope = Readonly<{
  sent: PaymentPayload;
  accepted: PaymentRequirements;
  payload: Readonly<Record<string, unknown>>;
}>;

/** Ledgers name a payment by its network and asset, as the client says, and PostgreSQL takes no text with a NUL. */
const controlCharacter = /\p{Cc}/u;

/**
 * Reads a payment as a client sent it (x402 version 2, `PaymentPayload`), except for the payload, whose form the scheme defines.
 *
 * @throws {MalformedPaymentError} with the path of the first field that is wrong; `path` is where the payment stands.
 */
export function readEnvelope(sent: unknown, path: string): Envelope {
  const { accepted, payload } = parsePart(PaymentPayloadV2Schema, sent, path);
  for (const field of ["network", "asset"] as const) {
    if (!controlCharacter.test(accepted[field])) continue;
    throw new MalformedPaymentError(`accepted.${field}`, "expected text without control characters").within(path);
  }
  return { sent: sent as PaymentPayload, accepted: accepted as PaymentRequirements, payload };
}

/**
 * Reads the requirements that a payment has to meet (x402 version 2, `PaymentRequirements`).
 *
 * @throws {MalformedPaymentError} with the path of the first field that is wrong; `path` is where the requirements stand.
 */
export function readRequirements(sent: unknown, path: string): PaymentRequirements {
  return parsePart(PaymentRequirementsV2Schema, sent, path) as PaymentRequirements;
}

/**
 * Reads the payload by its scheme.
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
