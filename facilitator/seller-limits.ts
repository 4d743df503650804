import * as Value from "ox/Value";
import { createProcessRateLimiter, type Rates } from "#gateway/limits/rate-limiter.ts";
import { isSameHex, type Hex } from "#x402/hex.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import type { DepositKey, SignedPayment } from "#x402/signed-payment.ts";
import { OverloadError, type Caller } from "./callers/caller.ts";
import type { FacilitatorMetrics } from "./facilitator-metrics.ts";
import type { NetworkOptions, NetworkSeller } from "./network-options.ts";
import { nameSetting } from "./setting-name.ts";
import { sumSpent, type Sales } from "./settlement/ledger/sales.ts";
import type { FacilitatorSettings } from "./settings.ts";
import { rejectSmallClaim } from "./unpaid-calls.ts";

const limits = {
  verificationsPerMinute: "verifications per minute",
  settlementsPerMinute: "settlements per minute",
  gasPerDay: "of the native currency for gas in 24 hours",
} as const;

type ReachedLimit = Readonly<{ key: keyof typeof limits; max: number }>;

function rejectCall(seller: string, { key, max }: ReachedLimit, waitMs: number): OverloadError {
  const seconds = Math.ceil(waitMs / 1_000);
  const message = `${seller} may use ${max} ${limits[key]} (${nameLimit(seller, key)}); try again in ${seconds} s`;
  return new OverloadError(429, message, Math.max(1, seconds));
}

function nameLimit(seller: string, key: string): string {
  return `${key} of ${seller} in ${nameSetting("sellers")}`;
}

/**
 * Limits the calls of sellers, on all networks together. Sellers without a name have no limit.
 *
 * @throws {OverloadError} from the function when a seller has reached its limit.
 */
export function limitSellerRates(
  sellers: FacilitatorSettings["sellers"],
  { metrics, monotonicMs }: Readonly<{ metrics: Pick<FacilitatorMetrics, "addSellerCall">; monotonicMs: () => number }>,
): (seller: string | undefined, operation: "verify" | "settle") => void {
  const byName = new Map(sellers.map((seller) => [seller.name, seller]));
  const limiter = createProcessRateLimiter({ clients: 2 * sellers.length }, { now: monotonicMs });
  return (name, operation) => {
    const seller = name === undefined ? undefined : byName.get(name);
    if (seller === undefined) return;
    const key = operation === "verify" ? "verificationsPerMinute" : "settlementsPerMinute";
    const max = seller[key];
    const waitMs = max && limiter.acquireNow?.(`${seller.name} ${key}`, 0, perMinute(max));
    metrics.addSellerCall(seller.name, operation, waitMs === undefined ? "served" : "limited");
    if (max !== undefined && waitMs !== undefined) throw rejectCall(seller.name, { key, max }, waitMs);
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
  const gas = createGasLimiter({ sales, clock, settlementCost });
  const findSellerName = ({ seller = "" }: Caller) => (sellers.has(seller) ? seller : undefined);
  const find = (caller: Caller): NetworkSeller | Rejection | undefined => {
    const name = findSellerName(caller);
    if (name === undefined) return undefined;
    const message = `${network} is not settled for ${name}: it is not in ${nameLimit(name, "networks")}.`;
    return sellers.get(name) ?? { reason: reason.network, message };
  };
  return {
    /** Returns why the calling seller may not use a network, a payee or an asset. */
    rejectTerms: (terms: Pick<SignedPayment, "payTo" | "asset">, caller: Caller): Rejection | undefined => {
      const seller = find(caller);
      return seller === undefined || "reason" in seller ? seller : rejectListed(terms, seller);
    },
    rejectAmount: (payment: SignedPayment, caller: Caller): Rejection | undefined => {
      const seller = find(caller);
      return seller === undefined || "reason" in seller ? undefined : rejectSellerAmount(payment, seller);
    },
    rejectIdentifier: async ({ payer }: SignedPayment, { identifier }: Caller): Promise<Rejection | undefined> =>
      identifier !== undefined && (await sales.isConflict(payer, identifier)) ? conflict : undefined,
    rejectGas: async (caller: Caller): Promise<OverloadError | undefined> => {
      const seller = find(caller);
      return seller === undefined || "reason" in seller ? undefined : gas.reject(seller);
    },
    /** Records a sale before its settlement starts. Returns why that is not possible. */
    record: async (
      { id, payer }: SignedPayment,
      caller: Caller,
      hasStarted: () => Promise<boolean>,
    ): Promise<Rejection | undefined> => {
      const [seller, { identifier }] = [findSellerName(caller), caller];
      if ((seller === undefined && identifier === undefined) || (await hasStarted())) return undefined;
      return (await sales.add({ id, payer, seller, identifier })) ? undefined : conflict;
    },
    enter: (caller: Caller): Disposable | undefined => gas.enter(findSellerName(caller)),
  };
}

type DepositedTerms = Pick<SignedPayment, "asset" | "payTo" | "unserved" | "deposits">;

/**
 * Creates the checks from which payments with recorded deposits are exempt; deposits are looked up only when a payment would be rejected.
 */
export function createTermsChecks(
  { payees, minAmount }: Readonly<{ payees: ReadonlySet<string>; minAmount: (asset: Hex) => bigint }>,
  {
    sellers,
    hasDeposit,
  }: Readonly<{
    sellers: SellerLimits;
    hasDeposit: (key: DepositKey) => Promise<boolean>;
  }>,
) {
  const isRecorded = async ({ deposits = [] }: Pick<SignedPayment, "deposits">): Promise<boolean> => {
    for (const deposit of deposits) if (!(await hasDeposit(deposit))) return false;
    return deposits.length > 0;
  };
  const rejectTerms = async (terms: DepositedTerms, caller: Caller): Promise<Rejection | undefined> => {
    const rejection = terms.unserved ?? sellers.rejectTerms(terms, caller) ?? rejectPayee(terms.payTo, payees);
    return rejection !== undefined && !(await isRecorded(terms)) ? rejection : undefined;
  };
  /** Exempts only remainders, which could otherwise never leave their channel; exempting any part would allow moves unit by unit. */
  const rejectSmall = async (payment: SignedPayment, caller: Caller): Promise<Rejection | undefined> => {
    const rejection =
      sellers.rejectAmount(payment, caller) ??
      rejectAmount(payment, minAmount(payment.asset)) ??
      (caller.isKnown === true ? undefined : rejectSmallClaim(payment, minAmount(payment.asset)));
    const isExempt = rejection !== undefined && payment.isRemainder === true && (await isRecorded(payment));
    return isExempt ? undefined : rejection;
  };
  return {
    rejectPayment: async (payment: SignedPayment, caller: Caller): Promise<Rejection | OverloadError | undefined> =>
      (await rejectTerms(payment, caller)) ??
      (await sellers.rejectIdentifier(payment, caller)) ??
      (await sellers.rejectGas(caller)) ??
      rejectSmall(payment, caller),
    /** Rejects a voucher whose claim would be rejected. @throws {OverloadError} when the seller's gas is spent. */
    rejectVoucher: async (terms: DepositedTerms, caller: Caller): Promise<Rejection | undefined> => {
      const rejection = (await rejectTerms(terms, caller)) ?? (await sellers.rejectGas(caller));
      if (rejection instanceof OverloadError) throw rejection;
      return rejection;
    },
  };
}

/** Compares the amount to settle, which the caller of `/settle` chooses, not the signed maximum: the signer pays the gas. */
export function rejectAmount(
  { amount, max }: Pick<SignedPayment, "amount" | "max">,
  minAmount: bigint,
): Rejection | undefined {
  if (amount >= minAmount) return undefined;
  const remedy = max === undefined ? "charge more" : "charge more, or 0, which settles nothing";
  const message = `the amount is ${amount}, but the minimum here is ${minAmount} of the token's smallest units (the facilitator's assets[].minAmount); ${remedy}.`;
  return { reason: reason.requirements, message };
}

function rejectPayee(payTo: Hex, payees: ReadonlySet<string>): Rejection | undefined {
  if (payees.size === 0 || payees.has(payTo.toLowerCase())) return undefined;
  return { reason: reason.requirements, message: `payee ${payTo} is not allowed here.` };
}

/** Decimals of the native currency, in which gas is paid; wallets support no other number. */
const etherDecimals = 18;

/**
 * Limits what sellers' settlements may cost in 24 hours. Each settlement in flight is assumed to cost as much as the most expensive one in
 * that period or, if there is none, the max cost of a settlement.
 */
function createGasLimiter({ sales, clock, settlementCost }: SellerDependencies) {
  const inFlight = new Map<string, number>();
  const count = (name: string, by: number) => inFlight.set(name, (inFlight.get(name) ?? 0) + by);
  return {
    reject: async ({ name, gasPerDay }: NetworkSeller): Promise<OverloadError | undefined> => {
      if (gasPerDay === undefined) return undefined;
      const hours = await sales.dailyGas(name);
      const most = Value.fromEther(gasPerDay.toFixed(etherDecimals));
      const highestCost = hours.reduce((max, hour) => (hour.dearest > max ? hour.dearest : max), 0n);
      const each = highestCost > 0n ? highestCost : settlementCost();
      let expectedCost = sumSpent(hours) + each * BigInt(inFlight.get(name) ?? 0);
      if (expectedCost < most) return undefined;
      let waitMs = inFlightWaitMs;
      for (const { spent, forgottenMs } of hours) {
        expectedCost -= spent;
        if (expectedCost >= most) continue;
        waitMs = forgottenMs - clock();
        break;
      }
      return rejectCall(name, { key: "gasPerDay", max: gasPerDay }, waitMs);
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

function rejectListed(
  { payTo, asset }: Pick<SignedPayment, "payTo" | "asset">,
  { name, payees, assets }: NetworkSeller,
): Rejection | undefined {
  if (payees !== undefined && !payees.some((payee) => isSameHex(payee, payTo)))
    return rejectPart(name, `payee ${payTo}`, "payees", `${payees.length} other payees`);
  if (assets === undefined || assets.some(({ address }) => isSameHex(address, asset))) return undefined;
  return rejectPart(name, `asset ${asset}`, "assets", assets.map(({ address }) => address).join(", "));
}

function rejectSellerAmount(
  { asset, amount, max }: Pick<SignedPayment, "asset" | "amount" | "max">,
  { name, assets = [] }: NetworkSeller,
): Rejection | undefined {
  const { minAmount = 0 } = assets.find(({ address }) => isSameHex(address, asset)) ?? {};
  if (amount >= BigInt(minAmount)) return undefined;
  const remedy = max === undefined ? "" : "; charge more, or 0, which settles nothing";
  return rejectPart(name, `amount ${amount}`, "assets", `minAmount ${minAmount} for ${asset}${remedy}`);
}

function rejectPart(seller: string, what: string, key: keyof NetworkSeller, listedValues: string): Rejection {
  const message = `${what} is not settled for ${seller}: ${nameLimit(seller, key)} has ${listedValues}.`;
  return { reason: reason.requirements, message };
}

const conflict: Rejection = {
  reason: reason.identifier,
  message:
    "the payer already used this payment-identifier for other terms or another resource; nothing was charged. Use a new identifier.",
};
