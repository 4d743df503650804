import type { Logger } from "#daemon/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/request.ts";
import { pause } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport, ReasonOf } from "#status/condition.ts";
import { readPushGroups, type PushgatewayOptions } from "./push-groups.ts";
import { countPush, isShared, type PushesSeen } from "./push-sharing.ts";

/** What the node pushes as, by its configuration. */
export type PushIdentity = Readonly<{ job: string; intervalSeconds: number }>;

export type PushWatchOptions = PushgatewayOptions & Readonly<{ staleAfterMs: number; signal: AbortSignal }>;

export type PushWatchDependencies = Readonly<{
  /** Undefined while pushing is not configured. */
  identity: () => PushIdentity | undefined;
  board: ConditionBoard;
  clock: Clock;
  ask: SendRequest;
  log: Logger;
}>;

/** One look at the Pushgateway. `unreachable`: it could not be asked; `missing`: it has no group of the node. */
export type PushLook = Readonly<
  { state: "notPushing" | "unreachable" | "missing" } | { state: "pushed"; lastPushSeconds: number }
>;

/** The node's metrics under watch. */
export type PushWatch = Readonly<{
  /** Asks now when the node last pushed (seconds since 1970). */
  lastPush: (signal: AbortSignal) => Promise<PushLook>;
  done: Promise<void>;
}>;

/**
 * Looks at the Pushgateway again and again: that the node's group is there and fresh is the only proof that metrics arrive,
 * because a node with keys of another version says nothing (specification, "Errors").
 */
export function watchPushes(options: PushWatchOptions, dependencies: PushWatchDependencies): PushWatch {
  const { identity, board, log } = dependencies;
  let seen: PushesSeen | undefined;
  let job: string | undefined;
  let wasShared = false;
  const say = (report: ConditionReport<"MetricsArriving">) => {
    wasShared = report.reason === "JobShared";
    board.set(report);
  };

  const look = async (signal: AbortSignal): Promise<PushLook> => {
    const pushes = identity();
    if (pushes === undefined) {
      say(notChecked("NotPushing", "The node is not configured to push metrics."));
      return { state: "notPushing" };
    }
    if (pushes.job !== job) seen = undefined;
    job = pushes.job;
    const found = await readPushGroups(options, signal, dependencies);
    if (signal.aborted) return { state: "unreachable" };
    if (!found.ok) {
      say({
        type: "MetricsArriving",
        status: "False",
        reason: "PushgatewayUnreachable",
        message: found.message,
      });
      return { state: "unreachable" };
    }
    const times = found.groups.flatMap((group) => (group.job === job ? [group.pushTimeSeconds] : []));
    const last = times.length === 0 ? undefined : Math.max(...times);
    const nowMs = dependencies.clock.monotonicMs();
    if (last !== undefined) {
      const ageMs = dependencies.clock.wallMs() - last * 1_000;
      seen = countPush(seen, { lastPushSeconds: last, ageMs }, nowMs, pushes.intervalSeconds);
    }
    say(judge(pushes, last === undefined ? undefined : seen, nowMs, options.staleAfterMs, wasShared));
    return last === undefined ? { state: "missing" } : { state: "pushed", lastPushSeconds: last };
  };

  const run = async () => {
    while (!options.signal.aborted) {
      await look(options.signal).catch((error: unknown) =>
        log.error({ err: error }, "looking at the Pushgateway failed"),
      );
      await pause(((identity()?.intervalSeconds ?? 10) * 1_000) / looksPerInterval, options.signal);
    }
  };
  return { lastPush: look, done: run() };
}

/** Often enough to tell two pushes within an interval apart. */
const looksPerInterval = 4;

function notChecked(
  reason: ReasonOf<"MetricsArriving", "Unknown">,
  message: string,
): ConditionReport<"MetricsArriving"> {
  return { type: "MetricsArriving", status: "Unknown", reason, message };
}

function judge(
  { job, intervalSeconds }: PushIdentity,
  seen: PushesSeen | undefined,
  nowMs: number,
  staleAfterMs: number,
  wasShared: boolean,
): ConditionReport<"MetricsArriving"> {
  const type = "MetricsArriving";
  if (seen === undefined) {
    const message = `The Pushgateway has no group of job "${job}"; the node has not pushed yet, or its monitor_config has keys of another version.`;
    return { type, status: "False", reason: "Missing", message };
  }
  const ageMs = nowMs - seen.lastPushSeenMs;
  const age = `${Math.round(ageMs / 1_000)} s`;
  if (ageMs > Math.max(staleAfterMs, 3 * intervalSeconds * 1_000)) {
    const message = `The last push of job "${job}" is ${age} old (interval ${intervalSeconds} s); look at the node and its monitor_config.`;
    return { type, status: "False", reason: "Stale", message };
  }
  const shared = isShared(seen, nowMs, intervalSeconds);
  if (shared === true || (shared === undefined && wasShared)) {
    const message = `More than one node pushes job "${job}", and they overwrite each other; give each its own monitor.jobName.`;
    return { type, status: "False", reason: "JobShared", message };
  }
  return { type, status: "True", reason: "Fresh", message: `Job "${job}" was pushed ${age} ago.` };
}
