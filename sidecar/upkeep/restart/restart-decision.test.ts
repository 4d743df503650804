import { describe, expect, test } from "vitest";
import type { RestartBudget } from "./restart-budget.ts";
import { createMaintenanceWindow, decideRestart, type RestartSituation } from "./restart-decision.ts";

const open = createMaintenanceWindow({ maintenanceMs: 1, maintenanceTimeZone: "UTC" });
const budget: Pick<RestartBudget, "used" | "allows" | "findNext"> = {
  used: () => 0,
  allows: () => true,
  findNext: () => undefined,
};
const situation: RestartSituation = {
  due: { cause: "configuration", reason: "node.conf changed", urgent: false },
  authority: "acts",
  held: false,
  running: false,
  canRestart: true,
  isUnusable: false,
  isKept: true,
  settledForMs: 1_000,
  settleMs: 200,
  restart: "gatehouse restart",
  wallMs: Date.parse("2026-05-01T12:00:00Z"),
};

const contestedConfig = { untilMs: Date.parse("2026-05-01T18:00:00Z"), resume: "npx gatehouse-evm resume" };

describe("a restart that is due", () => {
  test("proceeds if nothing prevents it", () => {
    expect(decideRestart(situation, { budget, window: open })).toMatchObject({ go: true });
  });

  test.each<[Partial<RestartSituation>, string]>([
    [{ due: undefined }, "NoRestart"],
    [{ running: true }, "Running"],
    [{ authority: "observes" }, "Observing"],
    [{ authority: "waits" }, "WaitingForApproval"],
    [{ held: true }, "Paused"],
    [{ canRestart: false }, "NoDriver"],
    [{ driverProblem: "./ops is not there" }, "ProgramMissing"],
    [{ due: undefined, driverProblem: "./ops is not there" }, "ProgramMissing"],
    [{ due: undefined, driverProblem: "./ops is not there", authority: "observes" }, "NoRestart"],
    [{ isUnusable: true }, "ConfigUnusable"],
    [{ isKept: false }, "StateNotWritable"],
    [{ contested: contestedConfig }, "Contested"],
    [{ contested: { ...contestedConfig, untilMs: undefined } }, "StartRewrites"],
    [{ settledForMs: 50 }, "Settling"],
  ])("waits: %o is %s", (change, reason) => {
    expect(decideRestart({ ...situation, ...change }, { budget, window: open })).toMatchObject({ go: false, reason });
  });

  test("reports when it starts while node.conf still changes", () => {
    const wallMs = Date.parse("2026-05-01T12:00:00Z");
    const changingConfig = { ...situation, wallMs, settleMs: 200, settledForMs: 50 };
    expect(decideRestart(changingConfig, { budget, window: open })).toMatchObject({
      message: expect.stringMatching(/; it starts at 2026-05-01T12:00:00\.150Z unless node\.conf changes again\.$/),
      wakeInMs: 150,
    });
  });

  test("reports what a restart in progress waits for, and until when an unresponsive node may still be starting", () => {
    const pendingStage = { stage: "It responds; its height must advance by then.", running: true };
    expect(decideRestart({ ...situation, ...pendingStage }, { budget, window: open })).toMatchObject({
      message: "The node is being restarted. It responds; its height must advance by then.",
    });
    const startingUntilMs = Date.parse("2026-05-01T12:10:00Z");
    expect(decideRestart({ ...situation, due: undefined, startingUntilMs }, { budget, window: open })).toMatchObject({
      message:
        "No restart is pending: the node has not responded since it started and has until 2026-05-01T12:10:00.000Z (restart.answersWithinMs).",
    });
  });

  test("waits while another program writes node.conf, and reports until when, and what would end the wait early", () => {
    expect(decideRestart({ ...situation, contested: contestedConfig }, { budget, window: open })).toMatchObject({
      message:
        "A restart is pending (node.conf changed); another program keeps writing node.conf, so it waits until 2026-05-01T18:00:00.000Z or until you run " +
        "`npx gatehouse-evm resume`. Find and stop that program first (see ConfigReconciled).",
    });
  });

  test("waits if the budget is used up, and reports until when", () => {
    const exhaustedBudget = {
      ...budget,
      used: () => 6,
      allows: () => false,
      findNext: () => ({ at: "2026-05-01T12:00:30.000Z", waitMs: 30_000, isLastReserved: true }),
    };
    expect(decideRestart(situation, { budget: exhaustedBudget, window: open })).toMatchObject({
      reason: "BudgetExhausted",
      message:
        "A restart is pending (node.conf changed); it starts at 2026-05-01T12:00:30.000Z, because there were 6 restarts in the last hour and " +
        "the last of restart.budgetPerHour is reserved for a rollback. Check the events for their causes; to restart now, run `gatehouse restart`.",
      wakeInMs: 30_000,
    });
    expect(decideRestart(situation, { budget: { ...exhaustedBudget, used: () => 1 }, window: open })).toMatchObject({
      message: expect.stringContaining("because there was 1 restart in the last hour") as string,
    });
    const unreserved = { ...exhaustedBudget.findNext(), isLastReserved: false };
    expect(
      decideRestart(situation, { budget: { ...exhaustedBudget, findNext: () => unreserved }, window: open }),
    ).toMatchObject({
      message: expect.stringContaining("there were 6 restarts in the last hour. Check the events") as string,
    });
    expect(
      decideRestart(situation, { budget: { ...exhaustedBudget, findNext: () => undefined }, window: open }),
    ).toMatchObject({
      message:
        "A restart is pending (node.conf changed); restart.budgetPerHour allows none, so run `gatehouse restart`.",
    });
  });

  test("completes an interrupted restart even while paused, and verifies it without charging the budget", () => {
    const due = { cause: "interrupted", reason: "x", urgent: true } as const;
    expect(decideRestart({ ...situation, held: true, due }, { budget, window: open })).toMatchObject({ go: true });
    const exhaustedBudget = { ...budget, allows: () => false };
    const unverifiedRestart = { ...situation, held: true, due: { ...due, cause: "unverified" as const } };
    expect(decideRestart(unverifiedRestart, { budget: exhaustedBudget, window: open })).toMatchObject({ go: true });
  });
});

describe("two conflicting writers", () => {
  const contestedSituation = { ...situation, contested: contestedConfig };

  test("do not prevent the restart of an unhealthy node or one left down by a killed sidecar", () => {
    for (const cause of ["unhealthy", "interrupted", "unverified"] as const) {
      const due = { cause, reason: "x", urgent: true };
      expect(decideRestart({ ...contestedSituation, due }, { budget, window: open })).toMatchObject({ go: true });
    }
  });
});

test("completes an earlier sidecar's restart once, even if the budget is used up", () => {
  const exhaustedBudget = { budget: { ...budget, allows: () => false }, window: open };
  const due = { cause: "interrupted", reason: "x", urgent: true } as const;
  expect(decideRestart({ ...situation, due: { ...due, isCharged: true } }, exhaustedBudget)).toMatchObject({
    go: true,
  });
  expect(decideRestart({ ...situation, due }, exhaustedBudget)).toMatchObject({ reason: "BudgetExhausted" });
});

describe("a maintenance window", () => {
  const window = createMaintenanceWindow({
    maintenanceCron: "0 3 * * *",
    maintenanceMs: 3_600_000,
    maintenanceTimeZone: "Europe/Berlin",
  });

  test.each([
    ["2026-05-01T00:59:59Z", false],
    ["2026-05-01T01:00:00Z", true],
    ["2026-05-01T01:59:59Z", true],
    ["2026-05-01T02:00:00Z", false],
  ])("at %s is open: %s", (at, isOpen) => {
    expect(window.isOpen(Date.parse(at))).toBe(isOpen);
  });

  test("delays all but urgent restarts", () => {
    expect(decideRestart(situation, { budget, window })).toMatchObject({
      reason: "WaitingForWindow",
      message:
        "A restart is pending (node.conf changed); it waits for the maintenance window at 2026-05-02T01:00:00.000Z.",
    });
    const due = { cause: "unhealthy", reason: "stalled", urgent: true } as const;
    expect(decideRestart({ ...situation, due }, { budget, window })).toMatchObject({ go: true });
  });
});
