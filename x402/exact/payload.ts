import { z } from "zod";
import { type Audience, type FieldSchemas, fields } from "../fields.ts";
import { parsePart } from "../malformed-payment-error.ts";
import { getPermit2Schema, type Permit2Payment } from "../permit2-payload.ts";

/** Builds the schema of the EIP-3009 payload of scheme `exact`. Numbers stay strings, because ledgers identify a payment by the digits that were sent. */
function buildPayloadSchema({ signature, address, number, nonce }: FieldSchemas) {
  const authorization = { from: address, to: address, value: number, validAfter: number, validBefore: number, nonce };
  return z.object({ signature, authorization: z.object(authorization) });
}

const payloadFor = { seller: buildPayloadSchema(fields.seller), client: buildPayloadSchema(fields.client) };

/** EIP-3009 payment as sent: the format of each field is checked, numbers are not parsed yet. */
export type Eip3009Payment = Readonly<z.output<typeof payloadFor.seller>>;

/** Payment of scheme `exact`, by one of its two transfer methods. */
export type ExactPayment = Eip3009Payment | Permit2Payment;

/**
 * Parses the payload of a payment with scheme `exact`.
 *
 * @throws {MalformedPaymentError} with the path within the payload.
 */
export function readPayload(payload: Readonly<Record<string, unknown>>, audience: Audience): ExactPayment {
  return "permit2Authorization" in payload
    ? parsePart(getPermit2Schema(audience), payload, "")
    : parsePart(payloadFor[audience], payload, "");
}
