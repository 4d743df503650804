import type { ConditionReport } from "#status/condition.ts";
import type { PushGroup } from "./push-groups.ts";
import { isJsonObject, type ConfigDocument } from "#node/conf/document.ts";
import { findNaming, listKeySets, type Naming } from "#node/conf/monitor-config.ts";
import type { NodeVersion } from "#node/versions.ts";

/** Job, instance and interval with which the node pushes, according to its configuration. Without a configured instance, the node may use an unknown one. */
export type PushIdentity = Readonly<{ job: string; instance?: string | undefined; intervalSeconds: number }>;

type TrackedGroup = Readonly<{
  group: PushGroup;
  /** Earlier pushes to the group; undefined if there were none. */
  seen: PushObservations | undefined;
  ageMs: number;
  isStale: boolean;
  isShared: boolean;
  wasFresh: boolean;
}>;

export type TrackedGroups = ReadonlyMap<string, TrackedGroup>;

type Now = Readonly<{ monotonicMs: number; wallMs: number }>;

/** Lists the groups matching the node's job and instance. If no instance is configured: the job's group without one, or else all of the job's groups. Pure. */
export function listOwnGroups(groups: readonly PushGroup[], { job, instance }: PushIdentity): readonly PushGroup[] {
  const ofJob = groups.filter((group) => group.job === job);
  const own = ofJob.filter((group) => group.instance === (instance ?? ""));
  return own.length > 0 || instance !== undefined ? own : ofJob;
}

export function trackGroups(
  before: TrackedGroups,
  groups: readonly PushGroup[],
  { monotonicMs, wallMs }: Now,
  { intervalSeconds, staleAfterMs }: Readonly<{ intervalSeconds: number; staleAfterMs: number }>,
): TrackedGroups {
  const follow = (group: PushGroup): TrackedGroup => {
    const last = before.get(group.labels);
    const { pushTimeSeconds } = group;
    const age = pushTimeSeconds === undefined ? 0 : wallMs - pushTimeSeconds * 1_000;
    const seen =
      pushTimeSeconds === undefined
        ? undefined
        : countPush(last?.seen, { lastPushSeconds: pushTimeSeconds, ageMs: age }, monotonicMs, intervalSeconds);
    const ageMs = monotonicMs - (seen?.lastPushSeenMs ?? monotonicMs);
    const isStale = ageMs > Math.max(staleAfterMs, 3 * intervalSeconds * 1_000);
    const isGroupShared = seen === undefined ? false : isShared(seen, monotonicMs, intervalSeconds);
    const wasFresh = last?.wasFresh === true || (seen !== undefined && !isStale);
    return { group, seen, ageMs, isStale, isShared: isGroupShared ?? last?.isShared ?? false, wasFresh };
  };
  return new Map(groups.map((group) => [group.labels, follow(group)]));
}

type Report = ConditionReport<"MetricsArriving">;

/** If several groups may be the node's, only those that were once fresh count: others may be from a removed node. Pure. */
export function evaluatePushes(identity: PushIdentity, followed: TrackedGroups, now: Now): Report {
  const all = [...followed.values()].toSorted((a, b) => a.ageMs - b.ageMs);
  const fresh = all.filter(({ wasFresh }) => wasFresh);
  const reports = (fresh.length > 0 ? fresh : all.slice(0, 1)).map((group) =>
    evaluateGroup(group, identity, { ...now, isOneOfMany: all.length > 1 }),
  );
  return reports.find(({ status }) => status === "False") ?? reports[0] ?? reportMissing(nameGroup(identity));
}

function evaluateGroup(
  { group, seen, ageMs, isStale, isShared: isGroupShared }: TrackedGroup,
  { intervalSeconds }: PushIdentity,
  { wallMs, isOneOfMany }: Now & Readonly<{ isOneOfMany: boolean }>,
): Report {
  const type = "MetricsArriving";
  const name = nameGroup(group);
  const { pushTimeSeconds = 0, failureTimeSeconds = 0 } = group;
  const age = `${Math.round(ageMs / 1_000)} s`;
  if (failureTimeSeconds > pushTimeSeconds) {
    const failedSeconds = Math.max(0, Math.round(wallMs / 1_000 - failureTimeSeconds));
    const successText = seen === undefined ? "none has succeeded yet" : `the last successful one is ${age} old`;
    const message = `The Pushgateway rejected the last push of ${name} ${failedSeconds} s ago; ${successText}. See the Pushgateway's log. The usual cause is another group with a metric of the same name but a different type: delete that group.`;
    return { type, status: "False", reason: "PushesRejected", message };
  }
  if (seen === undefined) return reportMissing(name);
  if (isStale) {
    const whose = isOneOfMany
      ? " It may be from another node with this job name; give each node its own monitor.jobName."
      : "";
    const message = `The last push of ${name} is ${age} old (interval ${intervalSeconds} s); check the node and its monitor_config.${whose}`;
    return { type, status: "False", reason: "Stale", message };
  }
  if (isGroupShared) {
    const message = `Several nodes push ${name} and overwrite each other; give each its own monitor.jobName.`;
    return { type, status: "False", reason: "JobShared", message };
  }
  return { type, status: "True", reason: "Fresh", message: `J${name.slice(1)} was pushed ${age} ago.` };
}

function nameGroup({ job, instance = "" }: Pick<PushIdentity, "job" | "instance">): string {
  return instance === "" ? `job "${job}"` : `job "${job}", instance "${instance}"`;
}

function reportMissing(name: string): Report {
  const message = `The Pushgateway has no group for ${name}; the node has not pushed yet, or its monitor_config has the keys of another version.`;
  return { type: "MetricsArriving", status: "False", reason: "Missing", message };
}

export type PushObservations = Readonly<{
  sinceMs: number;
  lastPushSeconds: number;
  /** Monotonic time at which the last push was first seen, so that a wall clock jump doesn't age it. */
  lastPushSeenMs: number;
  count: number;
}>;

/** Number of push intervals to observe: enough to distinguish two nodes from one. */
const intervalsChecked = 6;

/** Counts pushes. Restarts the count once enough have been seen. Pure. */
export function countPush(
  before: PushObservations | undefined,
  { lastPushSeconds, ageMs }: Readonly<{ lastPushSeconds: number; ageMs: number }>,
  nowMs: number,
  intervalSeconds: number,
): PushObservations {
  if (before === undefined) {
    return { sinceMs: nowMs, lastPushSeconds, lastPushSeenMs: nowMs - Math.max(0, ageMs), count: 0 };
  }
  // If the time went backwards, there was no new push: the group was removed, or the Pushgateway was restored from an older file.
  const isNew = lastPushSeconds > before.lastPushSeconds;
  const lastPushSeenMs = isNew ? nowMs : before.lastPushSeenMs;
  const hasElapsed = nowMs - before.sinceMs > intervalsChecked * intervalSeconds * 1_500;
  if (hasElapsed) return { sinceMs: nowMs, lastPushSeconds, lastPushSeenMs, count: 0 };
  return { ...before, lastPushSeconds, lastPushSeenMs, count: before.count + (isNew ? 1 : 0) };
}

/**
 * Whether more pushes arrived than one node sends: nodes with the same job overwrite each other. Undefined until enough intervals passed.
 * Pure.
 */
export function isShared(seen: PushObservations, nowMs: number, intervalSeconds: number): boolean | undefined {
  const intervals = (nowMs - seen.sinceMs) / (intervalSeconds * 1_000);
  if (intervals < intervalsChecked) return undefined;
  return seen.count > intervals * 1.5;
}

/**
 * "unknown" if it can't be determined, undefined if the node pushes nothing. Without a version, the naming used in node.conf counts. Pure.
 */
export function buildPushIdentity(
  document: ConfigDocument | undefined,
  version: NodeVersion | undefined,
): PushIdentity | "unknown" | undefined {
  if (document === undefined) return "unknown";
  const monitor = document.chain["monitor_config"];
  if (!isJsonObject(monitor)) return undefined;
  const namings = version === undefined ? listKeySets().map(({ keys: own }) => ({ own })) : [findNaming(version)];
  const naming: Pick<Naming, "own" | "instanceKey"> | undefined = namings.find(
    ({ own }) => monitor[own.enabled] === true,
  );
  if (naming === undefined) return undefined;
  const { own, instanceKey } = naming;
  const job = monitor[own.jobName];
  const interval = monitor[own.pushIntervalSeconds];
  const named = instanceKey === undefined ? undefined : monitor[instanceKey];
  const instance = typeof named === "string" && named !== "" ? named : undefined;
  if (typeof job !== "string") return undefined;
  return { job, instance, intervalSeconds: typeof interval === "number" && interval >= 1 ? interval : 10 };
}
