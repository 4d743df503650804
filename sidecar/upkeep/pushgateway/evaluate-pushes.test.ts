import { expect, test } from "vitest";
import {
  countPush,
  trackGroups,
  isShared,
  evaluatePushes,
  listOwnGroups,
  type TrackedGroups,
  type PushObservations,
  type PushIdentity,
} from "./evaluate-pushes.ts";
import type { PushGroup } from "./push-groups.ts";

/** Checks, four times per interval, a group that gets pushes at the given times (in intervals). */
function watched(pushedAt: (interval: number) => readonly number[]): boolean | undefined {
  let seen: PushObservations | undefined;
  const intervalSeconds = 10;
  let isGroupShared: boolean | undefined;
  for (let quarter = 0; quarter <= 28; quarter += 1) {
    const nowMs = quarter * 2_500;
    const pushes = Array.from({ length: 8 }, (_, interval) => pushedAt(interval)).flat();
    const last = Math.max(...pushes.filter((at) => at * 10_000 <= nowMs));
    seen = countPush(seen, { lastPushSeconds: last, ageMs: 0 }, nowMs, intervalSeconds);
    isGroupShared = isShared(seen, nowMs, intervalSeconds);
  }
  return isGroupShared;
}

test("counts one push per interval for a single node", () => {
  expect(watched((interval) => [interval])).toBe(false);
});

test("detects two nodes under one job by twice the number of pushes", () => {
  expect(watched((interval) => [interval, interval + 0.5])).toBe(true);
});

test("does not age a push when the wall clock jumps", () => {
  const first = countPush(undefined, { lastPushSeconds: 1, ageMs: 2_000 }, 10_000, 10);
  expect(first.lastPushSeenMs).toBe(8_000);
  expect(countPush(first, { lastPushSeconds: 1, ageMs: 3_600_000 }, 12_000, 10).lastPushSeenMs).toBe(8_000);
});

test("does not count a push time that goes backwards, but counts the next push", () => {
  const first = countPush(undefined, { lastPushSeconds: 100, ageMs: 0 }, 0, 10);
  const back = countPush(first, { lastPushSeconds: 40, ageMs: 60_000 }, 5_000, 10);
  expect(back).toMatchObject({ lastPushSeenMs: 0, count: 0 });
  expect(countPush(back, { lastPushSeconds: 50, ageMs: 60_000 }, 10_000, 10)).toMatchObject({
    lastPushSeenMs: 10_000,
    count: 1,
  });
});

const node: PushIdentity = { job: "n", intervalSeconds: 2 };

/** Assesses groups every second, from second 1000 since 1970 on; returns the last report. */
function evaluateAfter(seconds: number, groups: (elapsed: number) => readonly PushGroup[], identity = node) {
  let trackedGroups: TrackedGroups = new Map();
  let report;
  for (let elapsed = 0; elapsed <= seconds; elapsed += 1) {
    const now = { monotonicMs: elapsed * 1_000, wallMs: (1_000 + elapsed) * 1_000 };
    const own = listOwnGroups(groups(elapsed), identity);
    trackedGroups = trackGroups(trackedGroups, own, now, { ...identity, staleAfterMs: 10_000 });
    report = evaluatePushes(identity, trackedGroups, now);
  }
  return report;
}

/** A group whose node pushes every two seconds, until it stops pushing. */
function group(instance: string, elapsed: number, silentFrom = Infinity): PushGroup {
  const at = Math.min(elapsed, silentFrom);
  return { job: "n", instance, labels: `instance="${instance}",job="n"`, pushTimeSeconds: 1_000 + at - (at % 2) };
}

test("keeps two instances of one job apart", () => {
  const report = evaluateAfter(40, (elapsed) => [group("a", elapsed), group("b", elapsed + 1)]);
  expect(report).toMatchObject({ status: "True", reason: "Fresh" });
});

const aFallsSilent = (elapsed: number) => [group("a", elapsed, 20), group("b", elapsed)];

test("reports missing pushes of its own instance even while a different instance of the job pushes", () => {
  const own = evaluateAfter(40, aFallsSilent, { ...node, instance: "a" });
  expect(own).toMatchObject({ status: "False", reason: "Stale" });
  expect(own?.message).toContain('The last push of job "n", instance "a" is 20 s old');
  expect(evaluateAfter(40, aFallsSilent, { ...node, instance: "b" })).toMatchObject({ reason: "Fresh" });
  expect(evaluateAfter(40, aFallsSilent, { ...node, instance: "c" })).toMatchObject({ reason: "Missing" });
  const unnamedReport = evaluateAfter(40, aFallsSilent);
  expect(unnamedReport).toMatchObject({ status: "False", reason: "Stale" });
  expect(unnamedReport?.message).toContain("It may be from another node with this job name");
});

test("assigns the group without an instance to a node without one, whatever an earlier node left", () => {
  const report = evaluateAfter(40, (elapsed) => [group("a", 0), group("", elapsed)]);
  expect(report).toMatchObject({ reason: "Fresh", message: 'Job "n" was pushed 0 s ago.' });
  expect(evaluateAfter(40, (elapsed) => [group("a", -100), group("b", elapsed)])).toMatchObject({ reason: "Fresh" });
});

test("reports failed pushes as rejected by the Pushgateway, even if none ever succeeded", () => {
  const [{ job, instance, labels }] = [group("", 0)];
  const noSuccess = evaluateAfter(5, (elapsed) => [{ job, instance, labels, failureTimeSeconds: 1_000 + elapsed }]);
  expect(noSuccess).toMatchObject({ status: "False", reason: "PushesRejected" });
  expect(noSuccess?.message).toContain(
    `rejected the last push of job "n" 0 s ago; none has succeeded yet. See the Pushgateway's log.`,
  );
  const lastSuccess = evaluateAfter(30, (second) => [{ ...group("", second, 10), failureTimeSeconds: 1_000 + second }]);
  expect(lastSuccess?.message).toContain("the last successful one is 20 s old");
  const over = evaluateAfter(30, (second) => [{ ...group("", second), failureTimeSeconds: 1_000 }]);
  expect(over).toMatchObject({ reason: "Fresh" });
});
