import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { pause as realPause, type Pause } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import type { ConditionReport, ConditionStatus } from "#status/condition.ts";
import type { CallOutcome, Traffic } from "./observe/meter.ts";

/** Interval between two checks. */
const intervalMs = 2_000;

/** Window over which calls are evaluated, and the longer window used when there are few calls. */
const shortWindowMs = 60_000;
const longWindowMs = 600_000;
/** Min calls in a window for a verdict, unless calls fail. */
const minCalls = 20;
/** Number of failures, and share of calls, at which callers notice. */
const minFailures = 10;
const failingShare = 0.05;
/** Failure share below which the condition recovers; between the two shares, the condition keeps its status. */
const recoveredShare = 0.01;
/** Max methods listed in a message, starting with those that fail most. */
const listedMethodsMax = 3;

export type CallsWatchDependencies = Readonly<{
  /** Returns the calls since the start. */
  traffic: () => Promise<Traffic>;
  /** Returns whether the gateway serves and its node responds. If not, calls are rejected, and other conditions report the reason. */
  isServing: () => boolean;
  board: Pick<ConditionBoard, "get" | "set">;
  clock: Clock;
  log: Pick<Logger, "error">;
  signal: AbortSignal;
}>;

/**
 * Sets `CallsSucceeding` from the outcomes of calls in the last minute, or in the last ten minutes if there were few; stops on the signal.
 * While the gateway does not serve, rejected calls are not counted, and the condition keeps its status unless that status blames a node
 * that no longer responds.
 */
export async function watchCalls(
  { traffic, isServing, board, clock, log, signal }: CallsWatchDependencies,
  pause: Pause = realPause,
): Promise<void> {
  const last = new CallHistory(shortWindowMs);
  const long = new CallHistory(longWindowMs);
  const clear = () => {
    last.clear();
    long.clear();
  };
  const what = "The count of calls and failures";
  const pollLoop = pollCheck(
    { name: "calls", what, types: ["CallsSucceeding"], failed: clear, intervalMs, signal },
    async () => {
      const previousStatus = board.get("CallsSucceeding")?.status;
      if (!isServing()) {
        clear();
        if (previousStatus === "False") board.set(unknownReport);
        return;
      }
      const totals = sumCalls(await traffic());
      const now = clock.monotonicMs();
      const [minute, tenMinutes] = [last.add(totals, now), long.add(totals, now)];
      const condition = deriveCallsCondition(minute.calls < minCalls ? tenMinutes : minute, previousStatus);
      if (condition !== undefined) board.set(condition);
    },
    { board, log, pause },
  );
  await pollLoop.ended;
}

const unknownReport: ConditionReport<"CallsSucceeding"> = {
  type: "CallsSucceeding",
  status: "Unknown",
  reason: "NotServing",
  message:
    "Calls are not monitored while the gateway is not serving (see GatewayServing) or the node is not responding (see RpcResponding).",
};

/**
 * Derives from the calls in a window whether callers get responses. The node's health checks may succeed while its reads fail, and a
 * serving gateway may be out of capacity: no other condition shows either.
 *
 * @param before the condition's status at the last check; idle callers alone don't change it.
 * @returns undefined if there have been too few calls for a verdict.
 */
export function deriveCallsCondition(
  recent: RecentCalls,
  before: ConditionStatus | undefined,
): ConditionReport<"CallsSucceeding"> | undefined {
  const type = "CallsSucceeding";
  const failures = [...recent.failed.values()].reduce((sum, count) => sum + count, 0);
  const lost = failures + recent.shed;
  const share = recent.calls === 0 ? 0 : lost / recent.calls;
  const seconds = recent.windowMs / 1_000;
  const isWrong = lost >= minFailures && share >= (before === "False" ? recoveredShare : failingShare);
  if (isWrong && failures >= recent.shed) {
    return {
      type,
      status: "False",
      reason: "UpstreamFailing",
      message: `${failures} of ${recent.calls} calls of the last ${seconds} s got no response from the node (${nameMostFrequent(recent.failed)}), although it responds to health checks. Send such a call directly to the node, and check its log.`,
    };
  }
  if (isWrong) {
    return {
      type,
      status: "False",
      reason: "Overloaded",
      message: `${recent.shed} of ${recent.calls} calls of the last ${seconds} s were rejected: overloaded. Check whether this process lacks CPU (GatewayResponsive), whether the node is slow (gatehouse_gateway_node_duration_seconds), and whether overload.heavyParallel is too low for the callers' heavy calls (gatehouse_gateway_calls_queued).`,
    };
  }
  const successShare = `${recent.calls - lost} of ${recent.calls} calls of the last ${seconds} s were served.`;
  if (recent.calls >= minCalls) return { type, status: "True", reason: "Succeeding", message: successShare };
  const tooFewMessage = `Too few calls to evaluate: ${successShare}`;
  if (before === "True")
    return { type, status: "True", reason: "Succeeding", message: `${tooFewMessage} Earlier ones were.` };
  return before === undefined ? undefined : { type, status: "Unknown", reason: "TooFewCalls", message: tooFewMessage };
}

function nameMostFrequent(failed: ReadonlyMap<string, number>): string {
  const byCount = [...failed].sort(([, one], [, other]) => other - one);
  const named = byCount.slice(0, listedMethodsMax).map(([method, count]) => `${method} ${count}`);
  return [...named, ...(byCount.length > listedMethodsMax ? ["…"] : [])].join(", ");
}

/** Max samples retained per window. */
const snapshotsMax = 30;

/** Outcomes caused by the call or its caller rather than by the node or the gateway: these are not counted. */
const causedByCaller: ReadonlySet<CallOutcome> = new Set(["rejected", "limited", "cancelled"]);

/** Completed calls, except those that failed because of their caller. */
export type CallTotals = Readonly<{
  calls: number;
  /** Calls that got no response from the node, by method. */
  failed: ReadonlyMap<string, number>;
  shed: number;
}>;

export type RecentCalls = CallTotals & Readonly<{ windowMs: number }>;

/** Sums the counters of all tiers since the start. */
export function sumCalls({ calls }: Pick<Traffic, "calls">): CallTotals {
  const failedCalls = new Map<string, number>();
  let all = 0;
  let shed = 0;
  for (const { method, outcome, count } of calls) {
    if (causedByCaller.has(outcome)) continue;
    all += count;
    if (outcome === "failed") failedCalls.set(method, (failedCalls.get(method) ?? 0) + count);
    if (outcome === "overload") shed += count;
  }
  return { calls: all, failed: failedCalls, shed };
}

type CallSnapshot = Readonly<{ atMs: number; totals: CallTotals }>;

/** Outcomes of the gateway's calls within a window. They are derived from totals read periodically, so that no call spends time on them. */
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

  clear(): void {
    this.#snapshots = [];
  }
}

function computeDifference(now: CallTotals, before: CallTotals): CallTotals {
  const newFailures = [...now.failed].map(
    ([method, count]) => [method, count - (before.failed.get(method) ?? 0)] as const,
  );
  return {
    calls: now.calls - before.calls,
    failed: new Map(newFailures.filter(([, count]) => count > 0)),
    shed: now.shed - before.shed,
  };
}
