import type { Logger } from "#daemon/log/log.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { createProcessRateLimiter, type RateLimiter } from "./rate-limiter.ts";

/** Where rates are stored: shared at `redisUrl`, or in this process. */
export type RateStoreOptions = Readonly<{ redisUrl?: Secret | undefined; timeoutMs: number; clients: number }>;

/**
 * Starts the limiter that the settings configure: shared between replicas if they specify a store, otherwise local to this process. The
 * store's client library is loaded only if needed, because it takes 5 MiB.
 */
export async function startRateLimiter(
  { redisUrl, timeoutMs, clients }: RateStoreOptions,
  { log, now }: Readonly<{ log: Logger; now: () => number }>,
): Promise<RateLimiter & Disposable> {
  const own = createProcessRateLimiter({ clients }, { now });
  if (redisUrl === undefined) return { ...own, [Symbol.dispose]: () => undefined };
  const { createRedisRateLimiter } = await import("./redis-rate-limiter.ts");
  return createRedisRateLimiter({ url: redisUrl.reveal(), timeoutMs, clients }, { log, fallback: own, now });
}
