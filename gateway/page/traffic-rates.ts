import type { CallCount, LimitedCount, Traffic } from "#gateway/observe/meter.ts";

export type CallRates = Readonly<{ requests: number; errors: number; limited: number }>;

/** Recent calls by method and by tier, and the tiers that exceeded limits. */
export type TrafficRates = Readonly<{
  overMs: number;
  total: CallRates;
  /** Busiest first; methods beyond the number shown are combined in one line, `others`. */
  byMethod: readonly (CallRates & Readonly<{ method: string }>)[];
  byTier: readonly (CallRates & Readonly<{ tier: string }>)[];
  limited: readonly Readonly<{ tier: string; limit: string; perMinute: number }>[];
}>;

const methodsShown = 10;

/** Calls that failed because of the gateway or the node; the objectives in the alerts count the same calls. */
const errors: ReadonlySet<CallCount["outcome"]> = new Set(["failed", "overload"]);

/** Lists all counts at one point in time, in the order of `calls`, which is append-only. */
export function listCounts({
  calls,
  limited,
}: Traffic): Readonly<{ calls: Float64Array; limited: ReadonlyMap<string, number> }> {
  return {
    calls: Float64Array.from(calls, ({ count }) => count),
    limited: new Map(limited.map((one) => [formatKey(one), one.count])),
  };
}

export function computeRates(now: Traffic, previous: ReturnType<typeof listCounts>, overMs: number): TrafficRates {
  const perSecond = (count: number) => (count * 1_000) / Math.max(1, overMs);
  const increases = now.calls.map((call, index) => ({ ...call, count: call.count - (previous.calls[index] ?? 0) }));
  const rates = (calls: readonly CallCount[]): CallRates => ({
    requests: perSecond(sum(calls)),
    errors: perSecond(sum(calls.filter(({ outcome }) => errors.has(outcome)))),
    limited: perSecond(sum(calls.filter(({ outcome }) => outcome === "limited"))),
  });
  const methods = [...Map.groupBy(increases, ({ method }) => method)]
    .filter(([, calls]) => sum(calls) > 0)
    .toSorted(([, a], [, b]) => sum(b) - sum(a));
  const shown = methods.slice(0, methodsShown).map(([method, calls]) => Object.assign(rates(calls), { method }));
  const otherCalls = methods.slice(methodsShown).flatMap(([, calls]) => calls);
  const tiers = [...Map.groupBy(increases, ({ tier }) => tier)].filter(([, calls]) => sum(calls) > 0);
  return {
    overMs,
    total: rates(increases),
    byMethod: otherCalls.length === 0 ? shown : [...shown, { method: "others", ...rates(otherCalls) }],
    byTier: tiers
      .map(([tier, calls]) => Object.assign(rates(calls), { tier }))
      .toSorted((a, b) => b.requests - a.requests),
    limited: now.limited
      .map((one) => ({ ...one, count: one.count - (previous.limited.get(formatKey(one)) ?? 0) }))
      .filter(({ count }) => count > 0)
      .map(({ tier, limit, count }) => ({ tier, limit, perMinute: perSecond(count) * 60 }))
      .toSorted((a, b) => b.perMinute - a.perMinute),
  };
}

export function sumTotals({ calls }: Traffic): Readonly<{ calls: number; errors: number; limited: number }> {
  return {
    calls: sum(calls),
    errors: sum(calls.filter(({ outcome }) => errors.has(outcome))),
    limited: sum(calls.filter(({ outcome }) => outcome === "limited")),
  };
}

function sum(counts: readonly Readonly<{ count: number }>[]): number {
  return counts.reduce((total, { count }) => total + count, 0);
}

function formatKey({ limit, tier }: Pick<LimitedCount, "limit" | "tier">): string {
  return `${limit} ${tier}`;
}
