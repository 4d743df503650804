import { randomUUID } from "node:crypto";
import type { PaymentPayload, PaymentRequired } from "@x402/core/types";
import { z } from "zod";

/** Name of the x402 extension for client-chosen payment identifiers (x402 version 2, extension `payment-identifier`). */
const extension = "payment-identifier";

const idForm = { minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" } as const;

/** Extension as offered by a seller in PAYMENT-REQUIRED: an identifier is supported but not required. */
export const offeredIdentifier: Readonly<Record<string, unknown>> = {
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

/** Buyer's side of the extension: adds a new id to each payment to a seller that offers it (`x402Client.registerExtension`). */
export const identifyPayments = {
  key: extension,
  enrichPaymentPayload: async (payload: PaymentPayload, required: PaymentRequired): Promise<PaymentPayload> => {
    if (!offer.safeParse(required).success) return payload;
    const id = `pay_${randomUUID().replaceAll("-", "")}`;
    return { ...payload, extensions: { ...payload.extensions, [extension]: { info: { id } } } };
  },
};
