import { fallbackTier, type Caller } from "../callers/caller.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { Meter } from "../observe/meter.ts";
import type { PolicySource } from "../policy.ts";
import { largeBytes, priceBytes } from "./large-message.ts";

/** What shows whether a caller can pay. */
export type BodyAdmissionDependencies = Readonly<{
  policy: PolicySource;
  limiter: Pick<RateLimiter, "waitFor">;
  limited: Meter["limited"];
}>;

/** Asks, by a request's head alone, whether its body may come. Charges nothing: the body is charged when it is whole. */
export type BodyAdmission = Readonly<{
  /** Whether a body of this length is looked at before it comes. Shorter ones are not worth it. */
  isLarge: (lengthBytes: number) => boolean;
  /** Seconds after which its caller can pay for it; undefined: it may come. */
  waitSeconds: (caller: Caller, lengthBytes: number) => number | undefined;
  /** Counts a refusal. */
  refused: (caller: Caller) => void;
}>;

/** Makes the admission of all listeners' bodies. */
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
