import * as Value from "ox/Value";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { createProcessRateLimiter, type Rates } from "#gateway/limits/rate-limiter.ts";
import { refuse } from "#x402/answer.ts";
import { isSameHex } from "#x402/hex.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { Transfers } from "#x402/scheme.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { OverloadError } from "./callers/overload-error.ts";
import type { Caller } from "./callers/caller.ts";
import type { FacilitatorMetrics } from "./facilitator-metrics.ts";
import type { NetworkOptions, NetworkSeller } from "./network-options.ts";
import type { Operations } from "./operations.ts";
import type { Engine } from "./settlement/engine.ts";
import { sumSpent, type Sales } from "./settlement/ledger/sales.ts";
import type { FacilitatorSettings } from "./settings.ts";

/** Limits that a call may reach, each as text. */
const limits = {
  verificationsPerMinute: "verifications per minute",
  settlementsPerMinute: "settlements per minute",
  gasPerDay: "of the native currency for gas in 24 hours",
} as const;

/** Limit that a call reaches, and its value. */
type ReachedLimit = Readonly<{ key: keyof typeof limits; most: number }>;

/** Describes a seller's own limit, and how long to wait. */
function rejectCall(seller: string, { key, most }: ReachedLimit, waitMs: number): OverloadError {
  const seconds = Math.ceil(waitMs / 1_000);
  const message = `${seller} may use ${most} ${limits[key]} (${nameLimit(seller, key)}); try again in ${seconds} s`;
  return new OverloadError(429, message, Math.max(1, seconds));
}

/** Names a seller's limit as in the settings. */
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

export type SellerGuardOptions = Pick<NetworkOptions, "sellers"> & Readonly<{ network: string }>;

export type SellerGuardDependencies = Readonly<{
  sales: Sales;
  progress: Engine["progress"];
  clock: () => number;
  /** Returns the max cost of one settlement now, in wei; 0 until known. */
  settlementCost: () => bigint;
}>;

/** Applies limits of sellers, and the payments' own identifiers, to transfers. */
export type SellerGuard = (transfersFor: (caller: Caller) => Transfers) => (caller: Caller) => Transfers;

/** Creates the guard of the sellers' limits on one network. Sellers without a name have none. */
export function createSellerGuard(
  { network, sellers }: SellerGuardOptions,
  dependencies: SellerGuardDependencies,
): SellerGuard {
  const { sales, progress } = dependencies;
  const gas = createGasLimit(dependencies);

  const isRecorded = async (payment: SignedPayment) => (await progress(payment)) !== undefined;

  /**
   * Returns why a payment whose settlement has not started is not settled for its seller, or because of its identifier.
   */
  const judge = async (payment: SignedPayment, name: string | undefined, { identifier }: Caller) => {
    if (identifier !== undefined && (await sales.isConflict(payment.payer, identifier))) return conflict;
    if (name === undefined) return undefined;
    const seller = sellers.get(name);
    if (seller === undefined) {
      const message = `${network} is not settled for ${name}: it is not in ${nameLimit(name, "networks")}.`;
      return { reason: reason.network, message };
    }
    await gas.require(seller);
    return refuseTerms(payment, seller);
  };
  return (transfersFor) => (caller) => {
    const transfers = transfersFor(caller);
    const seller = sellers.has(caller.seller ?? "") ? caller.seller : undefined;
    const { identifier } = caller;
    if (seller === undefined && identifier === undefined) return transfers;
    return {
      ...transfers,
      async verify(payment) {
        const refusal = (await isRecorded(payment)) ? undefined : await judge(payment, seller, caller);
        return refusal === undefined ? transfers.verify(payment) : refuse(refusal, payment.payer);
      },
      async settle(payment) {
        const { id, payer } = payment;
        if (!(await isRecorded(payment))) {
          const refusal = await judge(payment, seller, caller);
          if (refusal !== undefined) return refuse(refusal, payment.payer);
          const isAdded = await sales.add({ id, payer, seller, identifier });
          if (!isAdded) return refuse(conflict, payment.payer);
        }
        using _entered = gas.enter(seller);
        return await transfers.settle(payment);
      },
    };
  };
}

/** Decimals of the native currency, in which gas is paid: wallets accept no other number. */
const etherDecimals = 18;

/**
 * Limits what sellers' settlements may cost in 24 hours. Each settlement in flight counts as much as the most expensive
 * one of that period, or, if there is none, as a settlement's max cost.
 */
function createGasLimit({
  sales,
  clock,
  settlementCost,
}: Pick<SellerGuardDependencies, "sales" | "clock" | "settlementCost">) {
  const inFlight = new Map<string, number>();
  const count = (name: string, by: number) => inFlight.set(name, (inFlight.get(name) ?? 0) + by);
  return {
    require: async (seller: NetworkSeller): Promise<void> => {
      const { name, gasPerDay } = seller;
      if (gasPerDay === undefined) return;
      const hours = await sales.gasOfDay(name);
      const most = Value.fromEther(gasPerDay.toFixed(etherDecimals));
      const dearest = hours.reduce((max, hour) => (hour.dearest > max ? hour.dearest : max), 0n);
      const each = dearest > 0n ? dearest : settlementCost();
      let expected = sumSpent(hours) + each * BigInt(inFlight.get(name) ?? 0);
      if (expected < most) return;
      let waitMs = inFlightWaitMs;
      for (const { spent, forgottenMs } of hours) {
        expected -= spent;
        if (expected >= most) continue;
        waitMs = forgottenMs - clock();
        break;
      }
      throw rejectCall(name, { key: "gasPerDay", most: gasPerDay }, waitMs);
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
