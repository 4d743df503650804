import { expect, test } from "vitest";
import {
  countPush,
  followGroups,
  isShared,
  evaluatePushes,
  listOwnGroups,
  type TrackedGroups,
  type PushObservations,
  type PushIdentity,
} from "./evaluate-pushes.ts";
import type { PushGroup } from "./push-groups.ts";

/** Checks a group that gets pushes at the given times (in intervals), four times per interval. */
function watched(pushedAt: (interval: number) => readonly number[]): boolean | undefined {
  let seen: PushObservations | undefined;
  const intervalSeconds = 10;
  let shared: boolean | undefined;
  for (let quarter = 0; quarter <= 28; quarter += 1) {
    const nowMs = quarter * 2_500;
    const pushes = Array.from({ length: 8 }, (_, interval) => pushedAt(interval)).flat();
    const last = Math.max(...pushes.filter((at) => at * 10_000 <= nowMs));
    seen = countPush(seen, { lastPushSeconds: last, ageMs: 0 }, nowMs, intervalSeconds);
    shared = isShared(seen, nowMs, intervalSeconds);
  }
  return shared;
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
function judgedAfter(seconds: number, groups: (second: number) => readonly PushGroup[], identity = node) {
  let followed: TrackedGroups = new Map();
  let report;
  for (let second = 0; second <= seconds; second += 1) {
    const now = { monotonicMs: second * 1_000, wallMs: (1_000 + second) * 1_000 };
    const own = listOwnGroups(groups(second), identity);
    followed = followGroups(followed, own, now, { ...identity, staleAfterMs: 10_000 });
    report = evaluatePushes(identity, followed, now);
  }
  return report;
}

/** A group whose node pushes every two seconds, until it stops pushing. */
function group(instance: string, second: number, silentFrom = Infinity): PushGroup {
  const at = Math.min(second, silentFrom);
  return { job: "n", instance, labels: `instance="${instance}",job="n"`, pushTimeSeconds: 1_000 + at - (at % 2) };
}

test("keeps two instances of one job apart", () => {
  const report = judgedAfter(40, (second) => [group("a", second), group("b", second + 1)]);
  expect(report).toMatchObject({ status: "True", reason: "Fresh" });
});

const aFallsSilent = (second: number) => [group("a", second, 20), group("b", second)];

test("reports missing pushes of its own instance even while a different instance of the job pushes", () => {
  const own = judgedAfter(40, aFallsSilent, { ...node, instance: "a" });
  expect(own).toMatchObject({ status: "False", reason: "Stale" });
  expect(own?.message).toContain('The last push of job "n", instance "a" is 20 s old');
  expect(judgedAfter(40, aFallsSilent, { ...node, instance: "b" })).toMatchObject({ reason: "Fresh" });
  expect(judgedAfter(40, aFallsSilent, { ...node, instance: "c" })).toMatchObject({ reason: "Missing" });
  const unnamed = judgedAfter(40, aFallsSilent);
  expect(unnamed).toMatchObject({ status: "False", reason: "Stale" });
  expect(unnamed?.message).toContain("It may be from another node with this job name");
});

test("assigns the group without an instance to a node without one, whatever an earlier node left", () => {
  const report = judgedAfter(40, (second) => [group("a", 0), group("", second)]);
  expect(report).toMatchObject({ reason: "Fresh", message: 'Job "n" was pushed 0 s ago.' });
  expect(judgedAfter(40, (second) => [group("a", -100), group("b", second)])).toMatchObject({ reason: "Fresh" });
});

test("reports failed pushes as rejected by the Pushgateway, even if none ever succeeded", () => {
  const [{ job, instance, labels }] = [group("", 0)];
  const never = judgedAfter(5, (second) => [{ job, instance, labels, failureTimeSeconds: 1_000 + second }]);
  expect(never).toMatchObject({ status: "False", reason: "PushesRejected" });
  expect(never?.message).toContain(
    `rejected the last push of job "n" 0 s ago; none has succeeded yet. See the Pushgateway's log.`,
  );
  const since = judgedAfter(30, (second) => [{ ...group("", second, 10), failureTimeSeconds: 1_000 + second }]);
  expect(since?.message).toContain("the last successful one is 20 s old");
  const over = judgedAfter(30, (second) => [{ ...group("", second), failureTimeSeconds: 1_000 }]);
  expect(over).toMatchObject({ reason: "Fresh" });
});
