import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SendRequest } from "#daemon/http/send-request.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { reportFailedLook, type WatchedLook } from "#status/failed-look.ts";
import type { ConditionReport } from "#status/condition.ts";
import { readPushGroups, type PushgatewayOptions } from "./push-groups.ts";

/** Job name and interval that the node pushes with, by its configuration. */
export type PushIdentity = Readonly<{ job: string; intervalSeconds: number }>;

export type PushWatchOptions = PushgatewayOptions & Readonly<{ staleAfterMs: number; signal: AbortSignal }>;

export type PushWatchDependencies = Readonly<{
  /** Undefined while pushing is not configured, "unknown" while nobody can tell. */
  identity: () => PushIdentity | "unknown" | undefined;
  board: ConditionBoard;
  clock: Clock;
  send: SendRequest;
  log: Logger;
}>;

/** One look at the Pushgateway. `unreachable`: it could not be reached; `missing`: it has no group of the node. */
export type PushLook = Readonly<
  { state: "notPushing" | "unreachable" | "missing" } | { state: "pushed"; lastPushSeconds: number }
>;

/** The node's metrics under watch. */
export type PushWatch = Readonly<{
  /** Reads now when the node last pushed (seconds since 1970). */
  lastPush: (signal: AbortSignal) => Promise<PushLook>;
  done: Promise<void>;
}>;

const watchedLook: WatchedLook = { what: "The look at the Pushgateway", types: ["MetricsArriving"] };

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
    if (pushes === undefined || pushes === "unknown") {
      say(pushes === undefined ? notPushing : identityUnknown);
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

  let intervalSeconds = unknownIntervalSeconds;
  const lookAndTime = async (signal: AbortSignal) => {
    const pushes = identity();
    intervalSeconds = typeof pushes === "object" ? pushes.intervalSeconds : unknownIntervalSeconds;
    await look(signal);
  };
  const done = poll(
    {
      name: "pushgateway",
      failed: (error) => reportFailedLook(watchedLook, error, board),
      intervalMs: () => (intervalSeconds * 1_000) / looksPerInterval,
      signal: options.signal,
    },
    lookAndTime,
    { log },
  );
  return { lastPush: look, done };
}

/** Interval that is assumed until the node's own is known. */
const unknownIntervalSeconds = 10;

/** Often enough to tell two pushes within an interval apart. */
const looksPerInterval = 4;

const notPushing: ConditionReport<"MetricsArriving"> = {
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
    "What the node pushes its metrics as is not known: node.conf could not be read yet, or the node's version is not known (ConfigValid, VersionAgreed).",
};

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

/** Pushes that were seen of one job; a plain value, replaced at each look. */
export type PushesSeen = Readonly<{
  /** Monotonic time of the first look. */
  sinceMs: number;
  lastPushSeconds: number;
  /** Monotonic time at which the last push was first seen; a jump of the wall clock does not make it old. */
  lastPushSeenMs: number;
  /** Distinct pushes after the first one. */
  count: number;
}>;

/** Pushes that one node makes in the time that is looked at; enough for two nodes to differ from one. */
const intervalsLookedAt = 6;

/** Counts pushes. Starts over when enough were seen. Pure. */
export function countPush(
  before: PushesSeen | undefined,
  { lastPushSeconds, ageMs }: Readonly<{ lastPushSeconds: number; ageMs: number }>,
  nowMs: number,
  intervalSeconds: number,
): PushesSeen {
  if (before === undefined) {
    return { sinceMs: nowMs, lastPushSeconds, lastPushSeenMs: nowMs - Math.max(0, ageMs), count: 0 };
  }
  const isNew = before.lastPushSeconds !== lastPushSeconds;
  const lastPushSeenMs = isNew ? nowMs : before.lastPushSeenMs;
  const isOver = nowMs - before.sinceMs > intervalsLookedAt * intervalSeconds * 1_500;
  if (isOver) return { sinceMs: nowMs, lastPushSeconds, lastPushSeenMs, count: 0 };
  return { ...before, lastPushSeconds, lastPushSeenMs, count: before.count + (isNew ? 1 : 0) };
}

/**
 * Whether more pushes came than one node makes: two nodes under one job overwrite each other, and nothing else shows it. Undefined
 * as long as too few intervals have passed to say. Pure.
 */
export function isShared(seen: PushesSeen, nowMs: number, intervalSeconds: number): boolean | undefined {
  const intervals = (nowMs - seen.sinceMs) / (intervalSeconds * 1_000);
  if (intervals < intervalsLookedAt) return undefined;
  return seen.count > intervals * 1.5;
}
