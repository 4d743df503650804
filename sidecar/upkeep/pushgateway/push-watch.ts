import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import type { ConditionReport } from "#status/condition.ts";
import {
  trackGroups,
  evaluatePushes,
  listOwnGroups,
  type TrackedGroups,
  type PushIdentity,
} from "./evaluate-pushes.ts";
import { readPushGroups, type PushgatewayOptions } from "./push-groups.ts";

export type PushWatchOptions = PushgatewayOptions & Readonly<{ staleAfterMs: number; signal: AbortSignal }>;

export type PushWatchDependencies = Readonly<{
  /** Group to which the node pushes; undefined while pushing is not configured, "unknown" while the group can't be determined. */
  identity: () => PushIdentity | "unknown" | undefined;
  board: ConditionBoard;
  clock: Clock;
  send: SendRequest;
  log: Logger;
}>;

/** Check of the Pushgateway. `unreachable`: it could not be reached; `missing`: it has no group for this node. */
export type PushCheck = Readonly<
  { state: "notPushing" | "unreachable" | "missing" } | { state: "pushed"; lastPushSeconds: number }
>;

/**
 * Polls the Pushgateway: only a fresh group shows that metrics arrive, because keys of another version fail silently (specification,
 * "Errors").
 */
export function watchPushes(options: PushWatchOptions, dependencies: PushWatchDependencies) {
  const { identity, board, log } = dependencies;
  let trackedGroups: TrackedGroups = new Map();
  const say = (report: ConditionReport<"MetricsArriving">) => void board.set(report);

  const checkPushes = async (signal: AbortSignal): Promise<PushCheck> => {
    const pushes = identity();
    if (pushes === undefined || pushes === "unknown") {
      say(pushes === undefined ? disabledReport : identityUnknown);
      return { state: "notPushing" };
    }
    const found = await readPushGroups(options, signal, dependencies);
    if (signal.aborted) return { state: "unreachable" };
    if (!found.ok) {
      const { message } = found;
      say({ type: "MetricsArriving", status: "False", reason: "PushgatewayUnreachable", message });
      return { state: "unreachable" };
    }
    const own = listOwnGroups(found.groups, pushes);
    const { clock } = dependencies;
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    trackedGroups = trackGroups(trackedGroups, own, now, { ...pushes, ...options });
    say(evaluatePushes(pushes, trackedGroups, now));
    const times = own.flatMap(({ pushTimeSeconds }) => pushTimeSeconds ?? []);
    return times.length === 0 ? { state: "missing" } : { state: "pushed", lastPushSeconds: Math.max(...times) };
  };

  let intervalSeconds = unknownIntervalSeconds;
  const checkAndMeasure = async (signal: AbortSignal) => {
    const pushes = identity();
    intervalSeconds = typeof pushes === "object" ? pushes.intervalSeconds : unknownIntervalSeconds;
    await checkPushes(signal);
  };
  const { ended: done } = pollCheck(
    {
      name: "pushgateway",
      what: "The check of the Pushgateway",
      types: ["MetricsArriving"],
      intervalMs: () => (intervalSeconds * 1_000) / checksPerInterval,
      signal: options.signal,
    },
    checkAndMeasure,
    { board, log },
  );
  return { lastPush: checkPushes, done };
}

const unknownIntervalSeconds = 10;

/** Frequent enough to distinguish two pushes within an interval. */
const checksPerInterval = 4;

const disabledReport: ConditionReport<"MetricsArriving"> = {
  type: "MetricsArriving",
  status: "Unknown",
  reason: "NotPushing",
  message: "The node is not configured to push metrics.",
};

const identityUnknown: ConditionReport<"MetricsArriving"> = {
  type: "MetricsArriving",
  status: "Unknown",
  reason: "IdentityUnknown",
  message:
    "The job name of the node's metrics is unknown: node.conf could not be read yet, or the node's version is unknown (see ConfigReconciled, VersionConsistent).",
};
