import { fallbackTier, type Caller } from "../callers/caller.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { Meter } from "../observe/meter.ts";
import type { PolicySource } from "../policy.ts";
import { largeBytes, priceBytes } from "./large-message.ts";

export type BodyAdmissionDependencies = Readonly<{
  policy: PolicySource;
  limiter: Pick<RateLimiter, "waitFor">;
  limited: Meter["limited"];
}>;

/** Decides from a request's head whether to accept its body. Does not charge: the body is charged once it is complete. */
export type BodyAdmission = Readonly<{
  /** Whether a body of this length is checked before it arrives. Shorter bodies are not worth checking. */
  isLarge: (lengthBytes: number) => boolean;
  /** Returns the seconds until the caller can pay for the body; undefined if the body is accepted now. */
  waitSeconds: (caller: Caller, lengthBytes: number) => number | undefined;
  /** Counts a rejection. */
  refused: (caller: Caller) => void;
}>;

/** Creates the body admission that all listeners share. */
export function admitBodies({ policy, limiter, limited }: BodyAdmissionDependencies): BodyAdmission {
  return {
    isLarge: (lengthBytes) => lengthBytes > largeBytes,
    waitSeconds: ({ key, tierName }, lengthBytes) => {
      const { settings, tiers } = policy();
      if (!settings.rateLimit.enabled) return undefined;
      const units = priceBytes(lengthBytes, settings.rateLimit.unitsPerKiB);
      const waitMs = limiter.waitFor(key, units, tiers.get(tierName) ?? fallbackTier);
      return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000));
    },
    refused: ({ tierName }) => limited("rate", tierName),
  };
}
