import type { Network, SettleResponse, VerifyResponse } from "@x402/core/types";
import { z } from "zod";

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);
const extra = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((value) => value ?? undefined);

/** Drops absent fields, which `exactOptionalPropertyTypes` and JSON both tell apart from undefined ones. */
function present<T extends object>(value: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** A facilitator's answer to `/verify` (x402 version 2, VerifyResponse). */
export const verifyAnswer = z
  .object({ isValid: z.boolean(), invalidReason: text, invalidMessage: text, payer: text, extensions: extra })
  .transform((answer) => present<VerifyResponse>(answer));

/** A facilitator's answer to `/settle` (x402 version 2, SettleResponse). */
export const settleAnswer = z
  .object({
    success: z.boolean(),
    errorReason: text,
    errorMessage: text,
    payer: text,
    transaction: z.string(),
    network: z.string().transform((value) => value as Network),
    amount: text,
    extensions: extra,
  })
  .transform((answer) => present<SettleResponse>(answer));

/** What is read of a facilitator's answer to `/supported`. */
export const supportedAnswer = z.object({
  kinds: z.array(z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })),
});

/** What a facilitator supports. */
export type SupportedKinds = Readonly<z.output<typeof supportedAnswer>>;
