import type { Logger } from "#daemon/log.ts";
import type { Secret } from "#daemon/secret.ts";
import { processRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { redisRateLimiter } from "./redis-rate-limiter.ts";

/** Where rates are counted. */
export type RateStoreOptions = Readonly<{ redisUrl?: Secret | undefined; timeoutMs: number; clients: number }>;

/** Starts the limiter that settings ask for: shared between replicas when they name a store, else of this process. */
export function startRateLimiter(
  { redisUrl, timeoutMs, clients }: RateStoreOptions,
  { log, now }: Readonly<{ log: Logger; now: () => number }>,
): RateLimiter & Disposable {
  const own = processRateLimiter({ clients }, { now });
  if (redisUrl === undefined) return { take: own.take, [Symbol.dispose]: () => undefined };
  return redisRateLimiter({ url: redisUrl.reveal(), timeoutMs }, { log, fallback: own });
}
