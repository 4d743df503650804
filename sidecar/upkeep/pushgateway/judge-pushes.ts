import type { ConditionReport } from "#status/condition.ts";
import type { PushGroup } from "./push-groups.ts";

/** Job, instance and interval that the node pushes with, by its configuration; without an instance it may have one that nobody configured. */
export type PushIdentity = Readonly<{ job: string; instance?: string | undefined; intervalSeconds: number }>;

/** A group, and what was seen of it over time. */
export type FollowedGroup = Readonly<{
  group: PushGroup;
  /** Absent if nothing was ever pushed to it. */
  seen: PushesSeen | undefined;
  ageMs: number;
  isStale: boolean;
  isShared: boolean;
  /** Whether it has been fresh since it was first seen. */
  wasFresh: boolean;
}>;

/** Groups by their labels. */
export type FollowedGroups = ReadonlyMap<string, FollowedGroup>;

/** Both clocks of one check. */
type Now = Readonly<{ monotonicMs: number; wallMs: number }>;

/**
 * Lists the groups that the node may push to: that of its job and instance. Where node.conf names no instance, that is the group without one, and
 * every group of the job if there is none. Pure.
 */
export function listOwnGroups(groups: readonly PushGroup[], { job, instance }: PushIdentity): readonly PushGroup[] {
  const ofJob = groups.filter((group) => group.job === job);
  const own = ofJob.filter((group) => group.instance === (instance ?? ""));
  return own.length > 0 || instance !== undefined ? own : ofJob;
}

/** Notes one check of the groups. Pure. */
export function followGroups(
  before: FollowedGroups,
  groups: readonly PushGroup[],
  { monotonicMs, wallMs }: Now,
  { intervalSeconds, staleAfterMs }: Readonly<{ intervalSeconds: number; staleAfterMs: number }>,
): FollowedGroups {
  const follow = (group: PushGroup): FollowedGroup => {
    const last = before.get(group.labels);
    const { pushTimeSeconds } = group;
    const age = pushTimeSeconds === undefined ? 0 : wallMs - pushTimeSeconds * 1_000;
    const seen =
      pushTimeSeconds === undefined
        ? undefined
        : countPush(last?.seen, { lastPushSeconds: pushTimeSeconds, ageMs: age }, monotonicMs, intervalSeconds);
    const ageMs = monotonicMs - (seen?.lastPushSeenMs ?? monotonicMs);
    const isStale = ageMs > Math.max(staleAfterMs, 3 * intervalSeconds * 1_000);
    const shared = seen === undefined ? false : isShared(seen, monotonicMs, intervalSeconds);
    const wasFresh = last?.wasFresh === true || (seen !== undefined && !isStale);
    return { group, seen, ageMs, isStale, isShared: shared ?? last?.isShared ?? false, wasFresh };
  };
  return new Map(groups.map((group) => [group.labels, follow(group)]));
}

type Report = ConditionReport<"MetricsArriving">;

/**
 * Judges the node's groups. Of several that may be its own, those count that were fresh at some time: another may be left of a node that is
 * gone. Pure.
 */
export function judgePushes(identity: PushIdentity, followed: FollowedGroups, now: Now): Report {
  const all = [...followed.values()].toSorted((a, b) => a.ageMs - b.ageMs);
  const fresh = all.filter(({ wasFresh }) => wasFresh);
  const reports = (fresh.length > 0 ? fresh : all.slice(0, 1)).map((group) =>
    judgeGroup(group, identity, { ...now, isOneOfMany: all.length > 1 }),
  );
  return reports.find(({ status }) => status === "False") ?? reports[0] ?? reportMissing(nameGroup(identity));
}

function judgeGroup(
  { group, seen, ageMs, isStale, isShared: shared }: FollowedGroup,
  { intervalSeconds }: PushIdentity,
  { wallMs, isOneOfMany }: Now & Readonly<{ isOneOfMany: boolean }>,
): Report {
  const type = "MetricsArriving";
  const name = nameGroup(group);
  const { pushTimeSeconds = 0, failureTimeSeconds = 0 } = group;
  const age = `${Math.round(ageMs / 1_000)} s`;
  if (failureTimeSeconds > pushTimeSeconds) {
    const failed = Math.max(0, Math.round(wallMs / 1_000 - failureTimeSeconds));
    const succeeded = seen === undefined ? "none has succeeded yet" : `the last one that succeeded is ${age} old`;
    const message = `The Pushgateway rejected the last push of ${name} ${failed} s ago; ${succeeded}. Its log says why. The usual reason is another group that has a metric of the same name with another type: delete that group.`;
    return { type, status: "False", reason: "PushesRejected", message };
  }
  if (seen === undefined) return reportMissing(name);
  if (isStale) {
    const whose = isOneOfMany ? " It may be another node's of that job; give each node its own monitor.jobName." : "";
    const message = `The last push of ${name} is ${age} old (interval ${intervalSeconds} s); look at the node and its monitor_config.${whose}`;
    return { type, status: "False", reason: "Stale", message };
  }
  if (shared) {
    const message = `More than one node pushes ${name}, and they overwrite each other; give each its own monitor.jobName.`;
    return { type, status: "False", reason: "JobShared", message };
  }
  return { type, status: "True", reason: "Fresh", message: `J${name.slice(1)} was pushed ${age} ago.` };
}

function nameGroup({ job, instance = "" }: Pick<PushIdentity, "job" | "instance">): string {
  return instance === "" ? `job "${job}"` : `job "${job}", instance "${instance}"`;
}

function reportMissing(name: string): Report {
  const message = `The Pushgateway has no group of ${name}; the node has not pushed yet, or its monitor_config has keys of another version.`;
  return { type: "MetricsArriving", status: "False", reason: "Missing", message };
}

/** Pushes that were seen of one group; a plain value, replaced at each look. */
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
  // A time that went back is no push: the group was removed, or the Pushgateway restored from an older file.
  const isNew = lastPushSeconds > before.lastPushSeconds;
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
