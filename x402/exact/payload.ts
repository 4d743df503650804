import { z } from "zod";
import type { Hex } from "../hex.ts";
import { parsePart } from "../malformed-payment-error.ts";
import type { Audience } from "../scheme.ts";

const uint256Max = (1n << 256n) - 1n;
const decimal = /^[0-9]{1,78}$/;
const numberSentence = "expected a whole number as a string of decimal digits";

/** uint256 in x402 format: decimal digits. */
export const decimalUint256 = z
  .string()
  .regex(decimal, numberSentence)
  .transform(BigInt)
  .refine((value) => value <= uint256Max, "expected a number below 2^256");

/** Builds a schema for `bytes` bytes in hexadecimal; `typeSentence` is the error for a value that isn't a string. */
function buildHexSchema(bytes: number, sentence: string, typeSentence?: string) {
  return z
    .string(typeSentence)
    .regex(new RegExp(`^0x[0-9a-fA-F]{${bytes * 2}}$`), sentence)
    .transform((text) => text as Hex);
}

/** Builds the same schema with one error message for malformed strings and for other types. */
function buildHexSchemaOf(bytes: number, what: string) {
  const sentence = `expected ${what}: 0x and ${bytes * 2} hexadecimal digits`;
  return buildHexSchema(bytes, sentence, sentence);
}

/** Account or contract address. */
export const evmAddress = buildHexSchemaOf(20, "an address");

/** Error for an invalid signature. */
export const signatureSentence = "expected the signature as a string";

/**
 * Formats of fields, with the error for each audience. A seller may submit any signature: a string that isn't a signature makes a payment
 * invalid, not malformed.
 */
const forms = {
  seller: {
    signature: z.string(signatureSentence),
    address: evmAddress,
    number: z.string().regex(decimal, numberSentence),
    nonce: buildHexSchemaOf(32, "the authorization's nonce"),
  },
  client: {
    signature: z.string().regex(/^0x[0-9a-fA-F]*$/, "expected hexadecimal with 0x"),
    address: buildHexSchema(20, "expected an address"),
    number: z.string().regex(decimal, "expected a whole number in decimal text"),
    nonce: buildHexSchema(32, "expected 32 bytes in hexadecimal with 0x"),
  },
} satisfies Record<Audience, object>;

/** Builds the schema of the EIP-3009 payload of scheme `exact`. Numbers stay strings, because ledgers identify a payment by the digits that were sent. */
function buildPayloadSchema({ signature, address, number, nonce }: (typeof forms)[Audience]) {
  const authorization = { from: address, to: address, value: number, validAfter: number, validBefore: number, nonce };
  return z.object({ signature, authorization: z.object(authorization) });
}

const payloadFor = { seller: buildPayloadSchema(forms.seller), client: buildPayloadSchema(forms.client) };

/** EIP-3009 payment as sent: the format of each field is checked, numbers are not parsed yet. */
export type ExactPayment = Readonly<z.output<typeof payloadFor.seller>>;

/**
 * Parses the payload of a payment with scheme `exact`.
 *
 * @throws {MalformedPaymentError} with the path within the payload.
 */
export function readPayload(payload: Readonly<Record<string, unknown>>, audience: Audience): ExactPayment {
  return parsePart(payloadFor[audience], payload, "");
}
