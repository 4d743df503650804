import { hash, randomUUID } from "node:crypto";
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from "@x402/core/types";
import { z } from "zod";

/** Permanent identity of a payment: the token accepts an account's nonce only once. All fields except `network` are lowercase. */
export type PaymentKey = Readonly<{ network: string; asset: string; payer: string; nonce: string }>;

/** Returns a payment's identifier as one string, identical in ledgers and in the log lines of every service that handles it. */
export function namePayment({ network, asset, payer, nonce }: PaymentKey): string {
  return [network, asset.toLowerCase(), payer.toLowerCase(), nonce.toLowerCase()].join("|");
}

/** Name of the x402 extension for client-chosen payment identifiers (x402 version 2, extension `payment-identifier`). */
const extension = "payment-identifier";

const idForm = { minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" } as const;

/** Extension as offered by a seller in PAYMENT-REQUIRED: an identifier is supported but not required. */
export const paymentIdentifierExtension: Readonly<Record<string, unknown>> = {
  [extension]: {
    info: { required: false },
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { required: { type: "boolean" }, id: { type: "string", ...idForm } },
      required: ["required"],
    },
  },
};

const paymentId = z.string().min(idForm.minLength).max(idForm.maxLength).regex(new RegExp(idForm.pattern));
const identifiedPayload = z.object({
  extensions: z.object({ [extension]: z.object({ info: z.object({ id: paymentId }) }) }),
});
const offer = z.object({
  extensions: z.object({ [extension]: z.object({ info: z.object({ required: z.boolean() }) }) }),
});

/** Reads the id that a payer chose for a payment, which is not visible on the chain; undefined if there is none. */
export function readPaymentIdentifier(paymentPayload: unknown): string | undefined {
  return identifiedPayload.safeParse(paymentPayload).data?.extensions[extension].info.id;
}

/**
 * Hashes an identifier's meaning, fixed at its first use: the terms of the payment, and the resource (extension
 * `payment-identifier`, "Request Binding"). The same identifier with another fingerprint is a conflict. Hexadecimal
 * SHA-256.
 */
export function fingerprintPayment(
  { scheme, network, asset, amount, payTo }: PaymentRequirements,
  resource: string,
): string {
  const terms = [scheme, network, asset.toLowerCase(), amount, payTo.toLowerCase(), resource];
  return hash("sha256", JSON.stringify(terms));
}

/** Buyer's side of the extension: adds a new id to each payment to a seller that offers it (`x402Client.registerExtension`). */
export const identifyPayments = {
  key: extension,
  enrichPaymentPayload: async (payload: PaymentPayload, required: PaymentRequired): Promise<PaymentPayload> => {
    if (!offer.safeParse(required).success) return payload;
    const id = `pay_${randomUUID().replaceAll("-", "")}`;
    return { ...payload, extensions: { ...payload.extensions, [extension]: { info: { id } } } };
  },
};
