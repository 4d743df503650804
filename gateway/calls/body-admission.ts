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

/** Decides by a request's head alone whether its body may come. Charges nothing: the body is charged when it is whole. */
export type BodyAdmission = Readonly<{
  /** Whether a body of this length is checked before it comes. Shorter ones are not worth it. */
  isLarge: (lengthBytes: number) => boolean;
  /** Returns the seconds after which the caller can pay for the body; undefined if it may come. */
  waitSeconds: (caller: Caller, lengthBytes: number) => number | undefined;
  /** Counts a refusal. */
  refused: (caller: Caller) => void;
}>;

/** Creates the admission of all listeners' bodies. */
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
