import { z } from "zod";
import { tierName } from "./policy.ts";

export const apiKeyHolder = z
  .string()
  .regex(/^[\w.-]{1,64}$/)
  .meta({ expected: "a holder's name: up to 64 letters, digits and . _ -" });

/** A stored API key, and the limits of its holder. */
export const apiKeyFields = {
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .meta({ expected: "the key's SHA-256, 64 lowercase hexadecimal digits" })
    .describe("SHA-256 of the key, in hexadecimal"),
  tier: tierName.describe("Tier whose limits apply to the key"),
} as const;
