/** Counts of a facilitator at one moment. */
export type PaymentCounts = Readonly<{
  atMs: number;
  pending: number;
  settled: number;
  refused: ReadonlyMap<string, number>;
  /** Balance of the signer for gas, in the chain's currency. */
  balance: number | undefined;
}>;

/** Payments of the last hour, or of as much of it as was seen. */
export type PaymentFigures = Readonly<{
  pending: number;
  settled: number;
  /** Most frequent first. */
  refused: readonly Readonly<{ reason: string; count: number }>[];
  /** Time that the counts cover. */
  overMs: number;
  balance?: number;
  /** Days that the balance lasts at the rate of that time; absent if nothing was spent. */
  balanceDays?: number;
}>;

/** Most reasons of refused payments that are kept apart; a facilitator has some thirty. */
const reasonsMax = 64;

const prefix = "gatehouse_facilitator_";
const sample = /^(?<name>\w+)(?:\{(?<labels>[^}]*)\})? (?<value>\S+)$/;

/** Reads a facilitator's counts from its metrics (Prometheus text format); undefined if they are no facilitator's. */
export function readPaymentCounts(metrics: string, atMs: number): PaymentCounts | undefined {
  let pending: number | undefined;
  let balance: number | undefined;
  let settled = 0;
  const refused = new Map<string, number>();
  for (const line of metrics.split("\n")) {
    if (!line.startsWith(prefix)) continue;
    const { name = "", labels = "", value = "" } = sample.exec(line)?.groups ?? {};
    const count = Number(value);
    const outcome = /outcome="(?<outcome>[^"]*)"/.exec(labels)?.groups?.["outcome"];
    if (name === `${prefix}settlements_pending`) pending = count;
    else if (name === `${prefix}signer_balance_native`) balance = Number.isFinite(count) ? count : undefined;
    else if (outcome === undefined || !/_(?:verify|settle)_duration_seconds_count$/.test(name)) continue;
    else if (outcome === "settled") settled += count;
    else if (outcome !== "valid" && (refused.has(outcome) || refused.size < reasonsMax)) {
      refused.set(outcome, (refused.get(outcome) ?? 0) + count);
    }
  }
  return pending === undefined ? undefined : { atMs, pending, settled, refused, balance };
}

const keptForMs = 3_600_000;
const keptEveryMs = 60_000;
const dayMs = 86_400_000;

/** Remembers an hour of counts, one a minute. */
export type PaymentWatch = Readonly<{ add: (counts: PaymentCounts) => PaymentFigures }>;

/** Creates an empty memory. A facilitator that was restarted counts from nothing, and so does the memory. */
export function createPaymentWatch(): PaymentWatch {
  let kept: readonly PaymentCounts[] = [];
  return {
    add: (now) => {
      const last = kept.at(-1);
      if (last !== undefined && hasRestarted(last, now)) kept = [];
      kept = kept.filter(({ atMs }) => now.atMs - atMs <= keptForMs);
      const newest = kept.at(-1);
      if (newest === undefined || now.atMs - newest.atMs >= keptEveryMs) kept = [...kept, now];
      return computeFigures(kept, now);
    },
  };
}

function hasRestarted(before: PaymentCounts, now: PaymentCounts): boolean {
  return now.atMs < before.atMs || now.settled < before.settled || sum(now.refused) < sum(before.refused);
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

function computeFigures(kept: readonly PaymentCounts[], now: PaymentCounts): PaymentFigures {
  const first = kept[0] ?? now;
  const overMs = now.atMs - first.atMs;
  const refused = [...now.refused]
    .map(([reason, count]) => ({ reason, count: count - (first.refused.get(reason) ?? 0) }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count);
  const spent = sumSpending([...kept, now]);
  const { pending, balance } = now;
  return {
    pending,
    settled: now.settled - first.settled,
    refused,
    overMs,
    ...(balance === undefined ? {} : { balance }),
    ...(balance === undefined || spent === 0 || overMs === 0
      ? {}
      : { balanceDays: (balance * overMs) / spent / dayMs }),
  };
}

/** Sums up the signer's spending; payments into its account do not reduce it. */
function sumSpending(counts: readonly PaymentCounts[]): number {
  let spent = 0;
  for (const [index, { balance }] of counts.entries()) {
    const before = counts[index - 1]?.balance;
    if (before !== undefined && balance !== undefined) spent += Math.max(0, before - balance);
  }
  return spent;
}
