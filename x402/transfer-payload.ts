import { hash } from "node:crypto";
import type { PaymentRequirements } from "@x402/core/types";
import { z } from "zod";
import { type Audience, type FieldSchemas, fields, parsePart } from "./fields.ts";
import { type Hex, encodeInteger } from "./hex.ts";
import type { SignedAuthorization } from "./scheme.ts";
import type { PaymentKey } from "./payment-identifier.ts";

/** Schema of the EIP-3009 payload. Numbers stay strings: ledgers identify a payment by the digits sent. */
function buildEip3009Schema({ signature, address, number, nonce }: FieldSchemas) {
  const authorization = { from: address, to: address, value: number, validAfter: number, validBefore: number, nonce };
  return z.object({ signature, authorization: z.object(authorization) });
}

const eip3009Schemas = { seller: buildEip3009Schema(fields.seller), client: buildEip3009Schema(fields.client) };

export type Eip3009Payment = Readonly<z.output<typeof eip3009Schemas.seller>>;

/** Schema of a Permit2 payload. Numbers stay strings: ledgers identify a payment by the digits sent. */
function buildPermit2Schema({ signature, address, number, uint256 }: FieldSchemas) {
  const permitted = z.object({ token: address, amount: number });
  const witness = z.object({ to: address, facilitator: address.optional(), validAfter: number });
  const permit = { permitted, from: address, spender: address, nonce: uint256, deadline: number, witness };
  return z.object({ signature, permit2Authorization: z.object(permit) });
}

const permit2Schemas = { seller: buildPermit2Schema(fields.seller), client: buildPermit2Schema(fields.client) };

export function getPermit2Schema(audience: Audience) {
  return permit2Schemas[audience];
}

export type Permit2Payment = Readonly<z.output<typeof permit2Schemas.seller>>;

export type TransferPayment = Eip3009Payment | Permit2Payment;

/**
 * Parses the payload of a payment by either transfer method.
 *
 * @throws {MalformedPaymentError} with the path within the payload.
 */
export function readTransferPayload(payload: Readonly<Record<string, unknown>>, audience: Audience): TransferPayment {
  return "permit2Authorization" in payload
    ? parsePart(getPermit2Schema(audience), payload, "")
    : parsePart(eip3009Schemas[audience], payload, "");
}

/** Returns the payment's key in ledgers. The nonce is unique among all of the payer's Permit2 payments (Permit2, SignatureTransfer). */
export function getPermit2Key(
  { permit2Authorization: { from, nonce } }: Permit2Payment,
  { network, asset }: Pick<PaymentRequirements, "network" | "asset">,
): PaymentKey {
  return { network, asset: asset.toLowerCase(), payer: from.toLowerCase(), nonce: formatPermit2Nonce(nonce) };
}

export function formatPermit2Nonce(nonce: string): Hex {
  return `0x${encodeInteger(BigInt(nonce))}`;
}

/** Locates a nonce in an account's Permit2 bitmaps: its word, its bit in the word, and the bit's mask. */
export function locatePermit2Nonce(nonce: string): Readonly<{ word: bigint; bit: bigint; mask: bigint }> {
  const position = BigInt(nonce);
  const bit = position & 0xffn;
  return { word: position >> 8n, bit, mask: 1n << bit };
}

export function hashPermit2Payment({ signature, permit2Authorization: permit }: Permit2Payment): string {
  const { permitted, from, spender, nonce, deadline, witness } = permit;
  const { to, facilitator = "", validAfter } = witness;
  const parts = [
    permitted.token,
    permitted.amount,
    from,
    spender,
    nonce,
    deadline,
    to,
    facilitator,
    validAfter,
    signature,
  ];
  return hash("sha256", parts.map((part) => part.toLowerCase()).join("\n"));
}

export function describePermit2({ permit2Authorization: permit }: Permit2Payment): SignedAuthorization {
  const { permitted, from, nonce, deadline, witness } = permit;
  const { to, validAfter } = witness;
  return {
    from,
    to,
    value: permitted.amount,
    validAfter,
    validBefore: deadline,
    nonce: formatPermit2Nonce(nonce),
    method: "permit2",
  };
}
