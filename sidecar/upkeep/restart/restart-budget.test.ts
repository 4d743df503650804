import { join } from "node:path";
import { expect, test } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { createRestartBudget } from "./restart-budget.ts";
import { openUpkeepState } from "../state/upkeep-state.ts";

const directory = makeSharedDirectory();
const hourMs = 3_600_000;
let stateNumber = 0;

/** A budget with a clock that the test sets; `reopen` simulates a restart of the sidecar. */
function createBudget(perHour: number) {
  const place = join(directory, String((stateNumber += 1)));
  const time = { wallMs: 1_000 * hourMs, monotonicMs: 0, sinceBootMs: 5 * hourMs, bootId: "this" };
  const clock = { wallMs: () => time.wallMs, monotonicMs: () => time.monotonicMs };
  const open = () => createRestartBudget({ perHour }, { store: openUpkeepState(place).store, clock, boot: () => time });
  return { time, open };
}

test("reserves one restart of the budget for the rollback", () => {
  const budget = createBudget(2).open();
  expect([budget.allows("ordinary"), budget.allows("roll-back")]).toEqual([true, true]);
  budget.record("drift");
  expect([budget.allows("ordinary"), budget.allows("roll-back")]).toEqual([false, true]);
  budget.record("roll-back");
  expect([budget.allows("ordinary"), budget.allows("roll-back")]).toEqual([false, false]);
});

test("keeps the budget across a restart of the sidecar", () => {
  const { time, open } = createBudget(6);
  open().record("drift");
  time.monotonicMs = 77;
  expect(open().used()).toBe(1);
  time.sinceBootMs += hourMs + 1;
  expect(open().used()).toBe(0);
});

test.each([hourMs, -hourMs])(
  "keeps restarts in the budget for the same time even if the clock jumps %s ms while the sidecar restarts",
  (jumpMs) => {
    const { time, open } = createBudget(6);
    open().record("drift");
    time.wallMs += jumpMs;
    time.sinceBootMs += 1_000;
    expect(open().used()).toBe(1);
    time.sinceBootMs += hourMs;
    expect(open().used()).toBe(0);
  },
);

test("derives the age from the wall clock after a reboot", () => {
  const { time, open } = createBudget(6);
  open().record("drift");
  Object.assign(time, { bootId: "next", sinceBootMs: 1_000, wallMs: time.wallMs + hourMs / 2 });
  expect(open().used()).toBe(1);
  time.wallMs += hourMs;
  expect(open().used()).toBe(0);
});

test.each([hourMs, -hourMs])(
  "keeps restarts in the budget for the same time even if the wall clock jumps %s ms",
  (jumpMs) => {
    const { time, open } = createBudget(6);
    const budget = open();
    budget.record("drift");
    time.wallMs += jumpMs;
    expect(budget.used()).toBe(1);
    time.monotonicMs += hourMs;
    expect(budget.used()).toBe(0);
  },
);

test("reports when it allows the next restart", () => {
  const { time, open } = createBudget(3);
  const budget = open();
  expect(budget.findNext("ordinary")).toBeUndefined();
  for (const atMs of [10, 20, 30]) {
    time.monotonicMs = atMs;
    budget.record("drift");
  }
  const at = new Date(time.wallMs + hourMs - 10).toISOString();
  expect(budget.findNext("ordinary")).toEqual({ waitMs: hourMs - 10, at, isLastReserved: true });
  expect(budget.findNext("roll-back")?.waitMs).toBe(hourMs - 20);
  const words = `restart.budgetPerHour allows the next restart at ${at} (3 in the last hour)`;
  expect(budget.explainExhausted("ordinary")).toBe(words);
  time.monotonicMs = hourMs + 20;
  expect(budget.allows("ordinary")).toBe(true);
  const single = createBudget(1).open();
  single.record("drift");
  expect(single.findNext("ordinary")).toMatchObject({ isLastReserved: false });
  const none = createBudget(0).open();
  expect(none.findNext("ordinary")).toBeUndefined();
  expect(none.explainExhausted("ordinary")).toBe("restart.budgetPerHour allows none");
});
