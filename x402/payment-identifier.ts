import { z } from "zod";

/** Place of the id in the x402 extension `payment-identifier` (16 to 128 characters; `@x402/extensions/payment-identifier`). */
const identifiedPayload = z.object({
  extensions: z.object({
    "payment-identifier": z.object({ info: z.object({ id: z.string().regex(/^[\w-]{16,128}$/) }) }),
  }),
});

/** Reads the id that a payer chose for a payment, which no chain shows; undefined if there is none. */
export function readPaymentIdentifier(paymentPayload: unknown): string | undefined {
  const read = identifiedPayload.safeParse(paymentPayload);
  return read.success ? read.data.extensions["payment-identifier"].info.id : undefined;
}
