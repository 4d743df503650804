import * as Value from "ox/Value";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { createProcessRateLimiter, type Rates } from "#gateway/limits/rate-limiter.ts";
import { isSameHex } from "#x402/hex.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { OverloadError } from "./callers/caller.ts";
import type { Caller } from "./callers/caller.ts";
import type { FacilitatorMetrics } from "./facilitator-metrics.ts";
import type { NetworkOptions, NetworkSeller } from "./network-options.ts";
import type { Operations } from "./operations.ts";
import { sumSpent, type Sales } from "./settlement/ledger/sales.ts";
import type { FacilitatorSettings } from "./settings.ts";

const limits = {
  verificationsPerMinute: "verifications per minute",
  settlementsPerMinute: "settlements per minute",
  gasPerDay: "of the native currency for gas in 24 hours",
} as const;

type ReachedLimit = Readonly<{ key: keyof typeof limits; most: number }>;

function rejectCall(seller: string, { key, most }: ReachedLimit, waitMs: number): OverloadError {
  const seconds = Math.ceil(waitMs / 1_000);
  const message = `${seller} may use ${most} ${limits[key]} (${nameLimit(seller, key)}); try again in ${seconds} s`;
  return new OverloadError(429, message, Math.max(1, seconds));
}

function nameLimit(seller: string, key: string): string {
  return `${key} of ${seller} in ${toEnvironmentName("facilitator", ["sellers"])}`;
}

/** Limits the calls of sellers, on all networks together. Sellers without a name have no limit. */
export function limitSellerRates(
  { verify, settle, ...others }: Operations,
  { sellers = [] }: Partial<Pick<FacilitatorSettings, "sellers">>,
  { metrics, monotonicMs }: Readonly<{ metrics: Pick<FacilitatorMetrics, "addSellerCall">; monotonicMs: () => number }>,
): Operations {
  const byName = new Map(sellers.map((seller) => [seller.name, seller]));
  const limiter = createProcessRateLimiter({ clients: 2 * sellers.length }, { now: monotonicMs });
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

type SellerDependencies = Readonly<{
  sales: Sales;
  clock: () => number;
  settlementCost: () => bigint;
}>;

export type SellerLimits = ReturnType<typeof createSellerLimits>;

export function createSellerLimits(
  { network, sellers }: Pick<NetworkOptions, "sellers"> & Readonly<{ network: string }>,
  { sales, clock, settlementCost }: SellerDependencies,
) {
  const gas = createGasLimit({ sales, clock, settlementCost });
  const nameOf = ({ seller = "" }: Caller) => (sellers.has(seller) ? seller : undefined);
  return {
    refuse: async (payment: SignedPayment, caller: Caller): Promise<Refusal | OverloadError | undefined> => {
      const { identifier } = caller;
      if (identifier !== undefined && (await sales.isConflict(payment.payer, identifier))) return conflict;
      const name = nameOf(caller);
      if (name === undefined) return undefined;
      const seller = sellers.get(name);
      if (seller === undefined) {
        const message = `${network} is not settled for ${name}: it is not in ${nameLimit(name, "networks")}.`;
        return { reason: reason.network, message };
      }
      return (await gas.refuse(seller)) ?? refuseTerms(payment, seller);
    },
    /** Records a sale before its settlement starts. Returns why that is not possible. */
    record: async (
      { id, payer }: SignedPayment,
      caller: Caller,
      hasStarted: () => Promise<boolean>,
    ): Promise<Refusal | undefined> => {
      const [seller, { identifier }] = [nameOf(caller), caller];
      if ((seller === undefined && identifier === undefined) || (await hasStarted())) return undefined;
      return (await sales.add({ id, payer, seller, identifier })) ? undefined : conflict;
    },
    enter: (caller: Caller): Disposable | undefined => gas.enter(nameOf(caller)),
  };
}

/** Decimals of the native currency, in which gas is paid: wallets accept no other number. */
const etherDecimals = 18;

/**
 * Limits what sellers' settlements may cost in 24 hours. Each settlement in flight counts as much as the most expensive
 * one of that period, or, if there is none, as a settlement's max cost.
 */
function createGasLimit({ sales, clock, settlementCost }: SellerDependencies) {
  const inFlight = new Map<string, number>();
  const count = (name: string, by: number) => inFlight.set(name, (inFlight.get(name) ?? 0) + by);
  return {
    refuse: async ({ name, gasPerDay }: NetworkSeller): Promise<OverloadError | undefined> => {
      if (gasPerDay === undefined) return undefined;
      const hours = await sales.dailyGas(name);
      const most = Value.fromEther(gasPerDay.toFixed(etherDecimals));
      const dearest = hours.reduce((max, hour) => (hour.dearest > max ? hour.dearest : max), 0n);
      const each = dearest > 0n ? dearest : settlementCost();
      let expected = sumSpent(hours) + each * BigInt(inFlight.get(name) ?? 0);
      if (expected < most) return undefined;
      let waitMs = inFlightWaitMs;
      for (const { spent, forgottenMs } of hours) {
        expected -= spent;
        if (expected >= most) continue;
        waitMs = forgottenMs - clock();
        break;
      }
      return rejectCall(name, { key: "gasPerDay", most: gasPerDay }, waitMs);
    },
    enter: (name: string | undefined): Disposable | undefined => {
      if (name === undefined) return undefined;
      count(name, 1);
      return { [Symbol.dispose]: () => void count(name, -1) };
    },
  };
}

/** Time after which settlements in flight have probably ended. */
const inFlightWaitMs = 5_000;

function refuseTerms(
  { payTo, asset, amount, max = amount }: SignedPayment,
  seller: NetworkSeller,
): Refusal | undefined {
  const refusePart = (what: string, key: keyof NetworkSeller, listed: string): Refusal => ({
    reason: reason.requirements,
    message: `${what} is not settled for ${seller.name}: ${nameLimit(seller.name, key)} has ${listed}.`,
  });
  if (seller.payees !== undefined && !seller.payees.some((payee) => isSameHex(payee, payTo)))
    return refusePart(`payee ${payTo}`, "payees", `${seller.payees.length} other payees`);
  if (seller.assets === undefined) return undefined;
  const token = seller.assets.find(({ address }) => isSameHex(address, asset));
  if (token === undefined)
    return refusePart(`asset ${asset}`, "assets", seller.assets.map(({ address }) => address).join(", "));
  const { minAmount = 0 } = token;
  return max < BigInt(minAmount)
    ? refusePart(`amount ${max}`, "assets", `minAmount ${minAmount} for ${asset}`)
    : undefined;
}

const conflict: Refusal = {
  reason: reason.identifier,
  message:
    "the payer already used this payment-identifier for other terms or another resource; nothing was charged. Use a new identifier.",
};
