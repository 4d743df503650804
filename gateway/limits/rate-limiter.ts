/** Rates for one caller, from the caller's tier (`settings/policy.ts`). */
export type Rates = Readonly<{
  requestsPerSecond: number;
  requestBurst: number;
  computeUnitsPerSecond: number;
  computeUnitBurst: number;
}>;

/** Outcome of a charge: undefined allows the call; a number rejects it and is the time in milliseconds until the call would fit. */
export type RateDecision = number | undefined;

/** Charges calls to callers. The in-process limiter decides synchronously; a limiter backed by a store decides asynchronously. */
export type RateLimiter = Readonly<{
  acquire: (key: string, costUnits: number, rates: Rates) => RateDecision | Promise<RateDecision>;
  /** Charges like `acquire`, but synchronously; absent if a store decides. */
  acquireNow?: (key: string, costUnits: number, rates: Rates) => RateDecision;
  /** Returns whether the store responds, so that limits apply across replicas; absent without a store. */
  isShared?: () => boolean;
  /**
   * Returns the milliseconds until this many units would fit, without charging them; undefined if they fit now, or if only a store knows.
   * Meant for requests that are cheaper to reject before they arrive.
   */
  waitFor: (key: string, costUnits: number, rates: Rates) => number | undefined;
  /** Charges units for work already done, into debt if necessary: the caller's next call waits until the debt is paid. The max debt is one full burst. */
  owe: (key: string, costUnits: number, rates: Rates) => void;
  /** Returns the milliseconds until a caller's debt is paid; undefined if there is no debt, or if only a store knows. */
  debtMs: (key: string, rates: Rates) => number | undefined;
}>;

/** Times at which a caller's two allowances will be full again, in milliseconds on the limiter's clock. */
type Account = { requestsFullAt: number; unitsFullAt: number };

/**
 * Limits rates within this process, using the generic cell rate algorithm (ITU-T I.371): two numbers per caller, exact at any burst size.
 * Callers beyond `clients` evict the oldest entry. At worst, a caller at its limit may continue; no caller is penalized.
 */
export function createProcessRateLimiter(
  options: Readonly<{ clients: number }>,
  { now }: Readonly<{ now: () => number }>,
): RateLimiter & Readonly<{ clients: () => number }> {
  const accounts = new LatestEntries<Account>(options.clients);
  const findOrCreateAccount = (key: string) => accounts.getOrCreate(key, createAccount);
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
 * Corrects times later than the current rates allow, which are left over from earlier, lower rates. Requests never go into
 * debt; units go into debt by at most one burst.
 */
function forgetLowerRates(account: Account, rates: Rates, now: number): void {
  const requestsLatest = now + (rates.requestBurst * 1_000) / rates.requestsPerSecond;
  const unitsLatest = now + (2 * rates.computeUnitBurst * 1_000) / rates.computeUnitsPerSecond;
  if (account.requestsFullAt > requestsLatest) account.requestsFullAt = requestsLatest;
  if (account.unitsFullAt > unitsLatest) account.unitsFullAt = unitsLatest;
}

/** Charges a debt. An allowance is empty when its refill takes as long as one burst, and owes a burst when it takes twice that. */
function chargeDebt(account: Account, costUnits: number, rates: Rates, now: number): void {
  const unitMs = 1_000 / rates.computeUnitsPerSecond;
  const latestMs = now + 2 * rates.computeUnitBurst * unitMs;
  account.unitsFullAt = Math.min(latestMs, Math.max(account.unitsFullAt, now) + costUnits * unitMs);
}

function charge(account: Account, costUnits: number, rates: Rates, now: number): RateDecision {
  const requestMs = 1_000 / rates.requestsPerSecond;
  const unitMs = 1_000 / rates.computeUnitsPerSecond;
  const requestsFullAt = Math.max(account.requestsFullAt, now) + requestMs;
  // A call that costs more than the whole burst must be admitted on a full allowance; otherwise it could never be made.
  const unitsFullAt = Math.max(account.unitsFullAt, now) + Math.min(costUnits, rates.computeUnitBurst) * unitMs;
  const waitMs = Math.max(
    requestsFullAt - now - rates.requestBurst * requestMs,
    unitsFullAt - now - rates.computeUnitBurst * unitMs,
  );
  // Upper bound of the rounding error in sums of fractions.
  const toleranceMs = 0.001;
  if (waitMs > toleranceMs) return waitMs;
  account.requestsFullAt = requestsFullAt;
  account.unitsFullAt = unitsFullAt;
  return undefined;
}

/**
 * A map with a max number of entries; a new entry evicts the oldest. A ring stores the order: finding the first key of a Map skips
 * every entry removed before it, which can be tens of thousands.
 */
export class LatestEntries<Value> {
  readonly #entriesMax: number;
  readonly #values = new Map<string, Value>();
  readonly #keys: string[] = [];
  /** Index of the oldest key in the ring, once the ring is full. */
  #oldest = 0;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Sets an entry; an existing entry keeps its age. */
  set(key: string, value: Value): void {
    if (!this.#values.has(key)) this.#add(key);
    this.#values.set(key, value);
  }

  getOrCreate(key: string, make: () => Value): Value {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.set(key, value);
    return value;
  }

  #add(key: string): void {
    const oldestKey = this.#keys.length < this.#entriesMax ? undefined : this.#keys[this.#oldest];
    if (oldestKey === undefined) {
      this.#keys.push(key);
      return;
    }
    this.#values.delete(oldestKey);
    this.#keys[this.#oldest] = key;
    this.#oldest = (this.#oldest + 1) % this.#entriesMax;
  }
}
