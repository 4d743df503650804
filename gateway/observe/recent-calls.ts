import type { CallOutcome } from "./meter.ts";
import type { Traffic } from "./meter.ts";

/** Max samples retained per window. */
const snapshotsMax = 30;

/** Outcomes caused by the call or its caller rather than by the node or the gateway: these are not counted. */
const ofTheCaller: ReadonlySet<CallOutcome> = new Set(["refused", "limited", "cancelled"]);

/** Completed calls, except those that failed because of their caller. */
export type CallTotals = Readonly<{
  calls: number;
  /** Calls that got no response from the node, by method. */
  failed: ReadonlyMap<string, number>;
  /** Calls rejected for lack of capacity. */
  shed: number;
}>;

/** Calls completed within a window. */
export type RecentCalls = CallTotals & Readonly<{ windowMs: number }>;

/** Sums the counters of all tiers since the start. */
export function sumCalls({ calls }: Pick<Traffic, "calls">): CallTotals {
  const failed = new Map<string, number>();
  let all = 0;
  let shed = 0;
  for (const { method, outcome, count } of calls) {
    if (ofTheCaller.has(outcome)) continue;
    all += count;
    if (outcome === "failed") failed.set(method, (failed.get(method) ?? 0) + count);
    if (outcome === "overload") shed += count;
  }
  return { calls: all, failed, shed };
}

/** One sample of the totals. */
type CallSnapshot = Readonly<{ atMs: number; totals: CallTotals }>;

/** Outcomes of the gateway's calls within a window. They are derived from totals read periodically, so that no call bears the cost. */
export class CallHistory {
  readonly #windowMs: number;
  #snapshots: CallSnapshot[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Records the current totals. Returns the difference from the totals at the start of the window, or from the first sample after `clear`. */
  add(totals: CallTotals, atMs: number): RecentCalls {
    const last = this.#snapshots.at(-1);
    if (last === undefined || atMs - last.atMs >= this.#windowMs / snapshotsMax) this.#snapshots.push({ atMs, totals });
    // Retains the newest sample that is old enough to compare with.
    while (this.#snapshots[1] !== undefined && this.#snapshots[1].atMs <= atMs - this.#windowMs)
      this.#snapshots.shift();
    return { windowMs: this.#windowMs, ...computeDifference(totals, this.#snapshots[0]?.totals ?? totals) };
  }

  /** Drops all samples so far. */
  clear(): void {
    this.#snapshots = [];
  }
}

function computeDifference(now: CallTotals, before: CallTotals): CallTotals {
  const failed = [...now.failed].map(([method, count]) => [method, count - (before.failed.get(method) ?? 0)] as const);
  return {
    calls: now.calls - before.calls,
    failed: new Map(failed.filter(([, count]) => count > 0)),
    shed: now.shed - before.shed,
  };
}
