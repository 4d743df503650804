import type { z } from "zod";
import type { statusPayments } from "../status-shapes.ts";

export type PaymentCounts = Readonly<{
  /** Measured by a monotonic clock. */
  atMs: number;
  pending: number;
  settled: number;
  rejected: ReadonlyMap<string, number>;
  /** Gas balances of a facilitator's signers, by `<network> <signer>`. */
  balances: ReadonlyMap<string, number>;
  /** Number of requests without a payment, to which a resource server responded with its offers. */
  unpaid: number;
}>;

/** Payments in the last hour, or in the part of it that was observed. */
type PaymentFigures = Omit<z.output<typeof statusPayments>, "service">;

/** Outcomes that are not rejections: a verified payment, a seller's check of its terms with a dummy payment, a sale delivered again. */
const uncounted = new Set(["", "valid", "terms_check", "replayed"]);

/** Max number of rejection reasons that are counted separately; a facilitator has some thirty. */
const reasonsMax = 64;

const sample = /^(?<name>\w+)(?:\{(?<labels>[^}]*)\})? (?<value>\S+)$/;

/** The metrics that count payments, by service: payments in flight, and completed payments by `outcome`. */
const counted = {
  facilitator: {
    pending: "gatehouse_facilitator_settlements_pending",
    ended: /^gatehouse_facilitator_(?:verify|settle)_duration_seconds_count$/,
  },
  "resource-server": { pending: "gatehouse_payments_in_flight", ended: /^gatehouse_payment_requests_total$/ },
} as const;

export type PaidService = keyof typeof counted;

export function readPaymentCounts(service: PaidService, metrics: string, atMs: number): PaymentCounts {
  const { pending, ended } = counted[service];
  const found = { pending: 0, settled: 0, unpaid: 0 };
  const balances = new Map<string, number>();
  const rejected = new Map<string, number>();
  for (const line of metrics.split("\n")) {
    const { name = "", labels = "", value = "" } = sample.exec(line)?.groups ?? {};
    const count = Number(value);
    if (name === pending) found.pending += count;
    else if (name === "gatehouse_facilitator_signer_balance_native" && Number.isFinite(count)) {
      balances.set(`${readLabel(labels, "network")} ${readLabel(labels, "signer")}`, count);
    }
    const outcome = ended.test(name) ? readLabel(labels, "outcome") : "";
    if (uncounted.has(outcome)) continue;
    if (outcome === "settled" || outcome === "sold") found.settled += count;
    else if (outcome === "unpaid") found.unpaid += count;
    else if (rejected.has(outcome) || rejected.size < reasonsMax) {
      rejected.set(outcome, (rejected.get(outcome) ?? 0) + count);
    }
  }
  return { atMs, ...found, balances, rejected };
}

function readLabel(labels: string, name: string): string {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
}

const keptForMs = 3_600_000;
const keptEveryMs = 60_000;
const dayMs = 86_400_000;
/** Min period for computing a rate; a shorter period does not predict the coming days. */
const rateOverMsMin = 600_000;

/**
 * Retains one hour of this process's counts, at most one per minute. If called less often, it covers the time since the
 * last reading before that hour.
 */
export type PaymentWatch = Readonly<{ add: (counts: PaymentCounts) => PaymentFigures }>;

export function createPaymentWatch(): PaymentWatch {
  let kept: readonly PaymentCounts[] = [];
  return {
    add: (now) => {
      kept = kept.filter((_, index) => now.atMs - (kept[index + 1] ?? now).atMs < keptForMs);
      const newest = kept.at(-1);
      if (newest === undefined || now.atMs - newest.atMs >= keptEveryMs) kept = [...kept, now];
      return computeFigures(kept, now);
    },
  };
}

function computeFigures(kept: readonly PaymentCounts[], now: PaymentCounts): PaymentFigures {
  const first = kept[0] ?? now;
  const overMs = Math.round(now.atMs - first.atMs);
  const rejected = [...now.rejected]
    .map(([reason, count]) => ({ reason, count: count - (first.rejected.get(reason) ?? 0) }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count);
  const balances = [...now.balances].map(([key, balance]) => {
    const spent = sumSpending(key, [...kept, now]);
    const [network = "", signer = ""] = key.split(" ");
    const of = { network, signer, balance };
    return spent === 0 || overMs < rateOverMsMin ? of : Object.assign(of, { days: (balance * overMs) / spent / dayMs });
  });
  const { pending, unpaid } = now;
  return {
    pending,
    settled: now.settled - first.settled,
    rejected,
    overMs,
    balances,
    unpaid: unpaid - first.unpaid,
  };
}

/** Adds up what a signer has spent; deposits do not reduce the sum. */
function sumSpending(key: string, counts: readonly PaymentCounts[]): number {
  let spent = 0;
  for (const [index, { balances }] of counts.entries()) {
    const [before, balance] = [counts[index - 1]?.balances.get(key), balances.get(key)];
    if (before !== undefined && balance !== undefined) spent += Math.max(0, before - balance);
  }
  return spent;
}
