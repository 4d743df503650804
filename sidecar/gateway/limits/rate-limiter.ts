import { LatestEntries } from "./latest-entries.ts";

/** Rates of one caller, as its tier sets them. */
export type Rates = Readonly<{
  requestsPerSecond: number;
  requestBurst: number;
  computeUnitsPerSecond: number;
  computeUnitBurst: number;
}>;

/** `undefined`: go on. A number: refused, and how many milliseconds until the call would fit. */
export type RateDecision = number | undefined;

/** Charges calls to callers. The in-process limiter answers at once, one that asks a store later. */
export type RateLimiter = Readonly<{
  take: (key: string, costUnits: number, rates: Rates) => RateDecision | Promise<RateDecision>;
}>;

/** When a caller's two allowances will be whole again, in milliseconds of the clock. */
type Account = { requestsFullAt: number; unitsFullAt: number };

/**
 * Limits rates in this process by the generic cell rate algorithm (ITU-T I.371): two numbers a caller, exact at any burst.
 * Callers beyond `clients` displace the one that has been remembered longest; a caller at its limit is thereby forgiven at
 * worst, never punished.
 */
export function processRateLimiter(
  options: Readonly<{ clients: number }>,
  { now }: Readonly<{ now: () => number }>,
): RateLimiter & Readonly<{ clients: () => number }> {
  const accounts = new LatestEntries<Account>(options.clients);
  return {
    clients: () => accounts.size,
    take: (key, costUnits, rates) => {
      let account = accounts.get(key);
      if (account === undefined) {
        account = { requestsFullAt: 0, unitsFullAt: 0 };
        accounts.set(key, account);
      }
      return charge(account, costUnits, rates, now());
    },
  };
}

function charge(account: Account, costUnits: number, rates: Rates, now: number): RateDecision {
  const requestMs = 1_000 / rates.requestsPerSecond;
  const unitMs = 1_000 / rates.computeUnitsPerSecond;
  const requestsFullAt = Math.max(account.requestsFullAt, now) + requestMs;
  // A call dearer than the whole burst must fit an untouched allowance, or it could never be made.
  const unitsFullAt = Math.max(account.unitsFullAt, now) + Math.min(costUnits, rates.computeUnitBurst) * unitMs;
  const waitMs = Math.max(
    requestsFullAt - now - rates.requestBurst * requestMs,
    unitsFullAt - now - rates.computeUnitBurst * unitMs,
  );
  // Sums of fractions are off by less than this.
  const toleranceMs = 0.001;
  if (waitMs > toleranceMs) return waitMs;
  account.requestsFullAt = requestsFullAt;
  account.unitsFullAt = unitsFullAt;
  return undefined;
}
