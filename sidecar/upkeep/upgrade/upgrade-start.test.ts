import { expect, test } from "vitest";
import { describeStart, judgeStart, resolveStart, type StartSituation } from "./upgrade-start.ts";

const at = Date.parse("2027-01-02T02:30:00Z");
const minute = 60_000;
const situation = (more: Partial<StartSituation> = {}, window?: string): StartSituation => ({
  upgrade: { window, lateMs: 15 * minute, lateBlocks: 100 },
  nowMs: at,
  height: 1_000,
  ...more,
});
const time = { kind: "time", atMs: at } as const;
const height = { kind: "height", height: 1_000 } as const;
const window = { kind: "window" } as const;

test("a time is waited for, due for a while, and then over", () => {
  expect(judgeStart({ start: time }, situation({ nowMs: at - minute }))).toEqual({ kind: "wait", wakeInMs: minute });
  expect(judgeStart({ start: time }, situation())).toEqual({ kind: "due" });
  expect(judgeStart({ start: time }, situation({ nowMs: at + 15 * minute }))).toEqual({ kind: "due" });
  expect(judgeStart({ start: time }, situation({ nowMs: at + 16 * minute }))).toMatchObject({ kind: "over" });
});

test("a height is waited for, due for some blocks, and then over; a node that does not answer is waited for", () => {
  expect(judgeStart({ start: height }, situation({ height: undefined }))).toEqual({ kind: "wait" });
  expect(judgeStart({ start: height }, situation({ height: 999 }))).toEqual({ kind: "wait" });
  expect(judgeStart({ start: height }, situation({ height: 1_100 }))).toEqual({ kind: "due" });
  expect(judgeStart({ start: height }, situation({ height: 1_101 }))).toMatchObject({ kind: "over" });
});

test("a window is waited for until it opens, and is over once the settings name none", () => {
  // 2027-01-02 is a Saturday.
  expect(judgeStart({ start: window }, situation({}, "Sat 02:00-03:00"))).toEqual({ kind: "due" });
  expect(judgeStart({ start: window }, situation({}, "Fri 23:00-03:00"))).toEqual({ kind: "due" });
  expect(judgeStart({ start: window }, situation({}, "Sat 03:00-04:00"))).toEqual({
    kind: "wait",
    wakeInMs: 30 * minute,
  });
  expect(judgeStart({ start: window }, situation())).toMatchObject({ kind: "over" });
  expect(describeStart(window, situation({}, "Mon 02:00-04:00"))).toBe(
    "in the window Mon 02:00-04:00 UTC (next at 2027-01-04T02:00:00.000Z)",
  );
});

test("what is requested begins at once, in the window, or when it says; what can't be is refused, what is odd is said", () => {
  const nothing = { problems: [], warnings: [] };
  expect(resolveStart(undefined, situation())).toEqual({ start: undefined, ...nothing });
  expect(resolveStart(undefined, situation({}, "Sat 02:00-03:00"))).toEqual({ start: undefined, ...nothing });
  expect(resolveStart(undefined, situation({}, "Sun 02:00-03:00"))).toEqual({ start: window, ...nothing });
  expect(resolveStart("now", situation({}, "Sun 02:00-03:00"))).toEqual({ start: undefined, ...nothing });
  expect(resolveStart(height, situation()).problems).toEqual(["block 1000 is there already: the node is at 1000"]);
  expect(resolveStart(time, situation()).problems).toEqual([expect.stringContaining("is past")]);
  const later = { kind: "time", atMs: at + minute } as const;
  expect(resolveStart(later, situation({}, "Sun 02:00-03:00"))).toEqual({
    start: later,
    problems: [],
    warnings: ["2027-01-02T02:31:00.000Z is outside of upgrade.window (Sun 02:00-03:00 UTC)"],
  });
});
