import * as Value from "ox/Value";
import { createProcessRateLimiter, type Rates } from "#gateway/limits/rate-limiter.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { Transfers } from "#x402/scheme.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Caller } from "../callers/caller.ts";
import type { FacilitatorMetrics } from "../facilitator-metrics.ts";
import type { Operations } from "../schemes/operations.ts";
import type { FacilitatorSettings } from "../settings.ts";
import type { Engine } from "../settlement/engine.ts";
import type { Sales } from "../settlement/ledger/sales.ts";
import { SellerLimitError } from "./seller-limit-error.ts";

/** Limits of one seller (`sellers` of the settings). */
export type Seller = FacilitatorSettings["sellers"][number];

export type SellerOptions = Readonly<{ sellers?: readonly Seller[]; chain: Readonly<{ nativeDecimals: number }> }>;

export type SellerDependencies = Readonly<{
  sales: Sales;
  progress: Engine["progress"];
  metrics: Pick<FacilitatorMetrics, "addSellerCall" | "watchSellers">;
  clock: () => number;
  monotonicMs: () => number;
}>;

/** Applies the sellers' limits to operations, and those and the payments' own identifiers to transfers. */
export type Sellers = Readonly<{
  limitRates: (operations: Operations) => Operations;
  guard: (transfersFor: (caller: Caller) => Transfers) => (caller: Caller) => Transfers;
}>;

/** Creates the guard of the sellers' limits. Sellers without a name have none. */
export function createSellers(
  { sellers = [], chain: { nativeDecimals } }: SellerOptions,
  dependencies: SellerDependencies,
): Sellers {
  const { sales, progress, metrics } = dependencies;
  const byName = new Map(sellers.map((seller) => [seller.name, seller]));
  const find = (name: string | undefined) => (name === undefined ? undefined : byName.get(name));
  const readGas = async (name: string) => Number(Value.format((await sales.gasToday(name)).spent, nativeDecimals));
  metrics.watchSellers([...byName.keys()], readGas);
  const gas = createGasLimit({ nativeDecimals }, dependencies);
  const chargeCall = createRateLimit(sellers.length, dependencies);

  const isRecorded = async (payment: SignedPayment) => (await progress(payment)) !== undefined;

  /** Returns why a payment whose settlement has not started is not settled for its seller, or by its identifier. */
  const refuse = async (payment: SignedPayment, seller: Seller | undefined, { identifier }: Caller) => {
    if (identifier !== undefined && (await sales.isConflict(payment.payer, identifier))) return conflict;
    if (seller === undefined) return undefined;
    await gas.require(seller);
    return refuseTerms(payment, seller);
  };
  return {
    limitRates: ({ verify, settle, ...others }) => ({
      ...others,
      verify: async (request, facts) => {
        chargeCall(find(facts.seller), "verify");
        return verify(request, facts);
      },
      settle: async (request, facts) => {
        chargeCall(find(facts.seller), "settle");
        return settle(request, facts);
      },
    }),
    guard: (transfersFor) => (caller) => {
      const transfers = transfersFor(caller);
      const seller = find(caller.seller);
      const { identifier } = caller;
      if (seller === undefined && identifier === undefined) return transfers;
      return {
        ...transfers,
        async verify(payment) {
          const refusal = (await isRecorded(payment)) ? undefined : await refuse(payment, seller, caller);
          return refusal === undefined ? transfers.verify(payment) : buildRefusal(payment, refusal);
        },
        async settle(payment) {
          const { id, payer } = payment;
          if (!(await isRecorded(payment))) {
            const refusal = await refuse(payment, seller, caller);
            if (refusal !== undefined) return buildRefusal(payment, refusal);
            const isAdded = await sales.add({ id, payer, seller: seller?.name, identifier });
            if (!isAdded) return buildRefusal(payment, conflict);
          }
          using _entered = gas.enter(seller);
          return await transfers.settle(payment);
        },
      };
    },
  };
}

/** Creates the count of sellers' calls; it throws where one has too many. */
function createRateLimit(count: number, { metrics, monotonicMs }: SellerDependencies) {
  const limiter = createProcessRateLimiter({ clients: 2 * count }, { now: monotonicMs });
  return (seller: Seller | undefined, operation: "verify" | "settle"): void => {
    if (seller === undefined) return;
    const key = operation === "verify" ? "verificationsPerMinute" : "settlementsPerMinute";
    const most = seller[key];
    const waitMs = most && limiter.acquireNow?.(`${seller.name} ${key}`, 0, perMinute(most));
    metrics.addSellerCall(seller.name, operation, waitMs === undefined ? "served" : "limited");
    if (most !== undefined && waitMs !== undefined) throw rejectCall(seller, { key, most }, waitMs);
  };
}

/** Limits what sellers' settlements may cost in a day. Settlements in flight count as much as the dearest one that day so far. */
function createGasLimit({ nativeDecimals }: SellerOptions["chain"], { sales, clock }: SellerDependencies) {
  const inFlight = new Map<string, number>();
  const count = (name: string, by: number) => inFlight.set(name, (inFlight.get(name) ?? 0) + by);
  return {
    require: async (seller: Seller): Promise<void> => {
      const { name, gasPerDay } = seller;
      if (gasPerDay === undefined) return;
      const { spent, dearest } = await sales.gasToday(name);
      const expected = spent + dearest * BigInt(inFlight.get(name) ?? 0);
      if (expected < Value.from(gasPerDay.toFixed(nativeDecimals), nativeDecimals)) return;
      throw rejectCall(seller, { key: "gasPerDay", most: gasPerDay }, dayMs - (clock() % dayMs));
    },
    enter: (seller: Seller | undefined): Disposable | undefined => {
      if (seller === undefined) return undefined;
      count(seller.name, 1);
      return { [Symbol.dispose]: () => void count(seller.name, -1) };
    },
  };
}

const dayMs = 86_400_000;

function perMinute(calls: number): Rates {
  return { requestsPerSecond: calls / 60, requestBurst: calls, computeUnitsPerSecond: 1, computeUnitBurst: 1 };
}

/** Limits that a call reaches, each in words. */
const limits = {
  verificationsPerMinute: "verifications a minute",
  settlementsPerMinute: "settlements a minute",
  gasPerDay: "of the native currency for gas in a day (UTC)",
} as const;

function rejectCall(
  seller: Seller,
  { key, most }: Readonly<{ key: keyof typeof limits; most: number }>,
  waitMs: number,
): SellerLimitError {
  const after = `try again in ${Math.ceil(waitMs / 1_000)} s`;
  return new SellerLimitError(
    `${seller.name} may use ${most} ${limits[key]} (${nameLimit(seller, key)}); ${after}`,
    waitMs,
  );
}

function refuseTerms({ payTo, asset, amount, max = amount }: SignedPayment, seller: Seller): Refusal | undefined {
  const refusePart = (what: string, key: keyof Seller, listed: string): Refusal => ({
    reason: reason.requirements,
    message: `${what} is not settled for ${seller.name}: ${nameLimit(seller, key)} has ${listed}.`,
  });
  if (seller.payees !== undefined && !seller.payees.some((payee) => isSame(payee, payTo)))
    return refusePart(`payee ${payTo}`, "payees", `${seller.payees.length} other payees`);
  if (seller.assets === undefined) return undefined;
  const token = seller.assets.find(({ address }) => isSame(address, asset));
  if (token === undefined)
    return refusePart(`asset ${asset}`, "assets", seller.assets.map(({ address }) => address).join(", "));
  const { minAmount = 0 } = token;
  return max < BigInt(minAmount)
    ? refusePart(`amount ${max}`, "assets", `minAmount ${minAmount} for ${asset}`)
    : undefined;
}

function isSame(address: string, other: string): boolean {
  return address.toLowerCase() === other.toLowerCase();
}

/** Names a seller's limit as in the settings. */
function nameLimit({ name }: Seller, key: keyof Seller): string {
  return `${key} of ${name} in ${toEnvironmentName("facilitator", ["sellers"])}`;
}

const conflict: Refusal = {
  reason: reason.identifier,
  message:
    "the payer used this payment-identifier for something else before (other terms or another resource); nothing was charged. Choose a new identifier for it.",
};

function buildRefusal({ payer }: SignedPayment, refusal: Refusal) {
  return { answer: { state: "refused", refusal }, payer } as const;
}
