import { z } from "zod";
import type { Hex } from "./hex.ts";

const uint256Max = (1n << 256n) - 1n;

/** A uint256 as x402 writes one: decimal digits. */
export const decimalUint256 = z
  .string()
  .regex(/^[0-9]{1,78}$/, "expected a whole number as a string of decimal digits")
  .transform(BigInt)
  .refine((value) => value <= uint256Max, "expected a number below 2^256");

const hexBytes = (bytes: number, what: string) =>
  z.custom<Hex>(
    (value) => typeof value === "string" && value.length === 2 + bytes * 2 && /^0x[0-9a-fA-F]+$/.test(value),
    `expected ${what}: 0x and ${bytes * 2} hexadecimal digits`,
  );

/** An account or contract address. */
export const evmAddress = hexBytes(20, "an address");

/** Longest signature that is read; those of smart wallets (ERC-6492) carry a deployment with them. */
const signatureLengthMax = 16_384;

/**
 * The payload of scheme `exact` by EIP-3009. The signature stays text here: one that is no signature at all makes a payment
 * invalid, not malformed.
 */
export const exactPayload = z.object({
  signature: z.string("expected the signature as a string").max(signatureLengthMax),
  authorization: z.object({
    from: evmAddress,
    to: evmAddress,
    value: decimalUint256,
    validAfter: decimalUint256,
    validBefore: decimalUint256,
    nonce: hexBytes(32, "the authorization's nonce"),
  }),
});

/** EIP-3009's `TransferWithAuthorization`, parsed. Amount in the token's smallest unit, times in seconds since 1970. */
export type Authorization = Readonly<z.output<typeof exactPayload>["authorization"]>;
