import { createProcessRateLimiter, type Rates } from "#gateway/limits/rate-limiter.ts";
import type { FacilitatorMetrics } from "../facilitator-metrics.ts";
import type { Operations } from "../schemes/operations.ts";
import type { FacilitatorSettings } from "../settings.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";

/** A seller's own limit is reached. Nothing was done; the same call succeeds after a while. */
export class SellerLimitError extends Error {
  override readonly name = "SellerLimitError";
  readonly code = "seller_limit";
  /** Seconds until a retry makes sense. */
  readonly retrySeconds: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.retrySeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  }
}

/** Limits that a call reaches, each in words. */
const limits = {
  verificationsPerMinute: "verifications per minute",
  settlementsPerMinute: "settlements per minute",
  gasPerDay: "of the native currency for gas in 24 hours",
} as const;

/** Limit that a call reaches, and its value. */
export type ReachedLimit = Readonly<{ key: keyof typeof limits; most: number }>;

/** Describes a seller's limit, and how long to wait. */
export function rejectCall(seller: string, { key, most }: ReachedLimit, waitMs: number): SellerLimitError {
  const after = `try again in ${Math.ceil(waitMs / 1_000)} s`;
  return new SellerLimitError(`${seller} may use ${most} ${limits[key]} (${nameLimit(seller, key)}); ${after}`, waitMs);
}

/** Names a seller's limit as in the settings. */
export function nameLimit(seller: string, key: string): string {
  return `${key} of ${seller} in ${toEnvironmentName("facilitator", ["sellers"])}`;
}

export type SellerRateDependencies = Readonly<{
  metrics: Pick<FacilitatorMetrics, "addSellerCall">;
  monotonicMs: () => number;
}>;

/** Limits the calls of sellers, on all networks together. Sellers without a name have no limit. */
export function limitSellerRates(
  { verify, settle, ...others }: Operations,
  { sellers = [] }: Partial<Pick<FacilitatorSettings, "sellers">>,
  { metrics, monotonicMs }: SellerRateDependencies,
): Operations {
  const byName = new Map(sellers.map((seller) => [seller.name, seller]));
  const limiter = createProcessRateLimiter({ clients: 2 * sellers.length }, { now: monotonicMs });
  /** Throws when the seller has too many calls. */
  const chargeCall = (name: string | undefined, operation: "verify" | "settle"): void => {
    const seller = name === undefined ? undefined : byName.get(name);
    if (seller === undefined) return;
    const key = operation === "verify" ? "verificationsPerMinute" : "settlementsPerMinute";
    const most = seller[key];
    const waitMs = most && limiter.acquireNow?.(`${seller.name} ${key}`, 0, perMinute(most));
    metrics.addSellerCall(seller.name, operation, waitMs === undefined ? "served" : "limited");
    if (most !== undefined && waitMs !== undefined) throw rejectCall(seller.name, { key, most }, waitMs);
  };
  return {
    ...others,
    verify: async (request, facts) => {
      chargeCall(facts.seller, "verify");
      return verify(request, facts);
    },
    settle: async (request, facts) => {
      chargeCall(facts.seller, "settle");
      return settle(request, facts);
    },
  };
}

function perMinute(calls: number): Rates {
  return { requestsPerSecond: calls / 60, requestBurst: calls, computeUnitsPerSecond: 1, computeUnitBurst: 1 };
}
