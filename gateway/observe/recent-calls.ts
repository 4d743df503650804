import type { CallOutcome } from "./meter.ts";
import type { Traffic } from "./traffic.ts";

/** Most looks that are kept of a window. */
const looksKept = 30;

/** Outcomes that are due to the call or its caller, not to the node and the gateway: they are not counted. */
const ofTheCaller: ReadonlySet<CallOutcome> = new Set(["refused", "limited", "cancelled"]);

/** Calls that ended, except those whose own caller is to blame. */
export type CallTotals = Readonly<{
  calls: number;
  /** Calls that got no answer from the node, by method. */
  failed: ReadonlyMap<string, number>;
  /** Calls that were turned away for lack of room. */
  shed: number;
}>;

/** Calls that ended within a window. */
export type RecentCalls = CallTotals & Readonly<{ windowMs: number }>;

/** Adds up the counters of all tiers since the start. */
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

/** One look at the totals. */
type Look = Readonly<{ atMs: number; totals: CallTotals }>;

/** Outcomes of the gateway's calls within a window, by totals that are read now and then: no call pays for it. */
export class CallHistory {
  readonly #windowMs: number;
  #looks: Look[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Notes the current totals, and returns their difference from those at the window's start, or at the first look after `clear`. */
  add(totals: CallTotals, atMs: number): RecentCalls {
    const last = this.#looks.at(-1);
    if (last === undefined || atMs - last.atMs >= this.#windowMs / looksKept) this.#looks.push({ atMs, totals });
    // The youngest look that is old enough stays, to compare with.
    while (this.#looks[1] !== undefined && this.#looks[1].atMs <= atMs - this.#windowMs) this.#looks.shift();
    return { windowMs: this.#windowMs, ...computeDifference(totals, this.#looks[0]?.totals ?? totals) };
  }

  /** Forgets all earlier calls. */
  clear(): void {
    this.#looks = [];
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
