import { LatestEntries } from "./latest-entries.ts";

/** Rates of one caller, as its tier sets them (`settings/policy.ts`). */
export type Rates = Readonly<{
  requestsPerSecond: number;
  requestBurst: number;
  computeUnitsPerSecond: number;
  computeUnitBurst: number;
}>;

/** Outcome of a charge: undefined lets the call go on; a number refuses it, and is the milliseconds until the call would fit. */
export type RateDecision = number | undefined;

/** Charges calls to callers. The in-process limiter answers at once, one that queries a store later. */
export type RateLimiter = Readonly<{
  acquire: (key: string, costUnits: number, rates: Rates) => RateDecision | Promise<RateDecision>;
  /** Charges as `acquire` does, where that is known at once; absent where a store decides. */
  acquireNow?: (key: string, costUnits: number, rates: Rates) => RateDecision;
  /**
   * Returns the milliseconds until so many units would fit, and charges nothing; undefined if they fit now, or only a store knows. For what is
   * cheaper to refuse before it comes.
   */
  waitFor: (key: string, costUnits: number, rates: Rates) => number | undefined;
  /**
   * Charges units for work already done, more than the caller has if need be: its next call waits until the debt is paid. Nobody owes
   * more than a whole burst.
   */
  owe: (key: string, costUnits: number, rates: Rates) => void;
  /** Returns the milliseconds until a caller's debt is paid; undefined if there is none, or only a store knows. */
  debtMs: (key: string, rates: Rates) => number | undefined;
}>;

/** Times at which a caller's two allowances will be whole again, in milliseconds of the clock. */
type Account = { requestsFullAt: number; unitsFullAt: number };

/**
 * Limits rates in this process by the generic cell rate algorithm (ITU-T I.371): two numbers a caller, exact at any burst.
 * Callers beyond `clients` displace the one that has been remembered longest; a caller at its limit is thereby forgiven at
 * worst, never punished.
 */
export function createProcessRateLimiter(
  options: Readonly<{ clients: number }>,
  { now }: Readonly<{ now: () => number }>,
): RateLimiter & Readonly<{ clients: () => number }> {
  const accounts = new LatestEntries<Account>(options.clients);
  const findOrCreateAccount = (key: string) => accounts.getOrMake(key, createAccount);
  const acquire = (key: string, costUnits: number, rates: Rates) => {
    const account = findOrCreateAccount(key);
    const at = now();
    forgetLowerRates(account, rates, at);
    return charge(account, costUnits, rates, at);
  };
  return {
    clients: () => accounts.size,
    acquire,
    acquireNow: acquire,
    waitFor: (key, costUnits, rates) => {
      const account = accounts.get(key);
      if (account === undefined) return undefined;
      const at = now();
      forgetLowerRates(account, rates, at);
      return charge({ ...account }, costUnits, rates, at);
    },
    owe: (key, costUnits, rates) => chargeDebt(findOrCreateAccount(key), costUnits, rates, now()),
    debtMs: (key, rates) => {
      const account = accounts.get(key);
      const emptyAt = now() + (rates.computeUnitBurst * 1_000) / rates.computeUnitsPerSecond;
      return account !== undefined && account.unitsFullAt > emptyAt ? account.unitsFullAt - emptyAt : undefined;
    },
  };
}

function createAccount(): Account {
  return { requestsFullAt: 0, unitsFullAt: 0 };
}

/**
 * Moves times that lie later than the present rates can put them, which lower rates put there that were in force before. Requests are never
 * owed, and units up to a burst.
 */
function forgetLowerRates(account: Account, rates: Rates, now: number): void {
  const requestsLatest = now + (rates.requestBurst * 1_000) / rates.requestsPerSecond;
  const unitsLatest = now + (2 * rates.computeUnitBurst * 1_000) / rates.computeUnitsPerSecond;
  if (account.requestsFullAt > requestsLatest) account.requestsFullAt = requestsLatest;
  if (account.unitsFullAt > unitsLatest) account.unitsFullAt = unitsLatest;
}

/** Charges a debt. An allowance is empty when it takes a burst's time to be whole, and owes a burst when it takes twice that. */
function chargeDebt(account: Account, costUnits: number, rates: Rates, now: number): void {
  const unitMs = 1_000 / rates.computeUnitsPerSecond;
  const latest = now + 2 * rates.computeUnitBurst * unitMs;
  account.unitsFullAt = Math.min(latest, Math.max(account.unitsFullAt, now) + costUnits * unitMs);
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
