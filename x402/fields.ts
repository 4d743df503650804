import { z } from "zod";
import type { Hex } from "./hex.ts";

/** Malformed payment request: an error of the sender, not a verdict about a payment. */
export class MalformedPaymentError extends Error {
  override readonly name = "MalformedPaymentError";
  readonly code = "payment_malformed";
  /** Path in the request, e.g. `paymentPayload.payload.authorization.value`; empty for the whole request. */
  readonly path: string;
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
    this.problem = problem;
  }

  /** Returns the same error with its path relative to an enclosing value, which contains the parsed part at `path`. */
  within(path: string): MalformedPaymentError {
    return new MalformedPaymentError(joinPath(path, this.path), this.problem);
  }
}

type Schema<Output> = Readonly<{
  safeParse: (
    value: unknown,
  ) =>
    | { success: true; data: Output }
    | { success: false; error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } };
}>;

/**
 * Parses the part of a payment at `path`.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
export function parsePart<Output>(schema: Schema<Output>, value: unknown, path: string): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new MalformedPaymentError(joinPath(path, ...(issue?.path ?? [])), issue?.message ?? "is wrong");
}

function joinPath(...parts: readonly PropertyKey[]): string {
  return parts.map(String).filter(Boolean).join(".");
}

export type Audience = "client" | "seller";

/** Fields of a facilitator request that contain the parts of a payment. */
export const paths = { payment: "paymentPayload", requirements: "paymentRequirements" } as const;

const uint256Max = (1n << 256n) - 1n;
const decimal = /^[0-9]{1,78}$/;
const decimalOrHex = /^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/;
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

export const evmAddress = buildHexSchemaOf(20, "an address");

export const signatureSentence = "expected the signature as a string";

/** Max length of a checked signature, in characters; those of smart wallets (ERC-6492) include a deployment. */
export const signatureLengthMax = 16_384;

/** Formats of a payload's fields. A string that isn't a signature makes a payment invalid, not malformed. */
export const fields = {
  seller: {
    signature: z.string(signatureSentence),
    address: evmAddress,
    number: z.string().regex(decimal, numberSentence),
    uint256: z.string().regex(decimalOrHex, "expected a whole number in decimal or hexadecimal text"),
    nonce: buildHexSchemaOf(32, "the authorization's nonce"),
  },
  client: {
    signature: z.string().regex(/^0x[0-9a-fA-F]*$/, "expected hexadecimal with 0x"),
    address: buildHexSchema(20, "expected an address"),
    number: z.string().regex(decimal, "expected a whole number in decimal text"),
    uint256: z.string().regex(decimalOrHex, "expected a whole number in decimal or hexadecimal text"),
    nonce: buildHexSchema(32, "expected 32 bytes in hexadecimal with 0x"),
  },
} satisfies Record<Audience, object>;

export type FieldSchemas = (typeof fields)[Audience];
