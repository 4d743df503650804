import { expect, test } from "vitest";
import { bootTime } from "#daemon/clock.ts";
import { makeContext, openTestState } from "../../testing/upkeep-context.ts";
import { createRestartBudget } from "../restart/restart-budget.ts";
import { findNodeWarnings, findUpgradeObstacles } from "./check-node.ts";

const healthyContext = makeContext({
  rpc: { blockHash: async () => undefined, peers: async () => 3 },
  health: { current: () => ({ answers: 1, height: 9 }), facts: () => ({}) },
});

test("warns before an upgrade if the node returns no block to verify its data", async () => {
  const baseline = { height: 9, autoPrune: false, tellsVersion: true };
  expect(await findNodeWarnings(baseline, healthyContext)).toEqual([expect.stringContaining("eth_getBlockByNumber")]);
  expect(await findNodeWarnings({ ...baseline, block: { number: 1, hash: "0x1" } }, healthyContext)).toEqual([]);
});

test("reports until when the restart budget prevents an upgrade", async () => {
  const state = await openTestState();
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const budget = createRestartBudget({ perHour: 1 }, { store: state.store, clock, boot: bootTime });
  const driver = { name: "ops", stop: async () => ({}), start: async () => ({}) };
  const context = makeContext({ state, budget, driver });
  expect([...findUpgradeObstacles(context)]).toEqual([]);
  budget.record("drift");
  expect([...findUpgradeObstacles(context)]).toEqual([
    "restart.budgetPerHour allows the next restart at 1970-01-01T01:00:00.000Z (1 in the last hour)",
  ]);
});
