import { beforeEach, expect, test } from "vitest";
import type { RpcState } from "#health/rpc-state.ts";
import { startedUpgrade } from "../../testing/started-upgrade.ts";
import { makeContext, openTestState } from "../../testing/upkeep-context.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { liftPause, hasRecovered, liftPauseIfChanged } from "./pause.ts";

let state: UpkeepState;

beforeEach(async () => {
  state = await openTestState();
});

const respondingState: RpcState = { answers: 5, height: 7 };
const down = { reason: "node.conf was changed", height: 7, isDown: true };
const reference = (height: number | undefined) => ({ reference: { height, requestedAtMs: 0 } });

test.each<[string, Partial<RpcState>, typeof down, boolean]>([
  ["it has more blocks than when it failed", { height: 8 }, down, true],
  ["it does not respond", { failure: { reason: "ConnectionRefused", message: "" } }, down, false],
  ["it responds again, on a chain with steady blocks", { cadence: "steady" }, down, false],
  ["it responds again, on a chain with irregular blocks", { cadence: "irregular" }, down, true],
  ["it responds again, on a chain that was idle when first checked", { cadence: "unknown", idleAt: 7 }, down, true],
  ["it responds again, on an unknown chain", { cadence: "unknown" }, down, false],
  ["it responds again, and the references have no more blocks", { ...reference(7), cadence: "steady" }, down, true],
  ["it responds again, and the references have more blocks", { ...reference(9), cadence: "irregular" }, down, false],
  ["it responds again, with fewer blocks", { height: 6, cadence: "irregular" }, down, false],
  ["it already responded at this height when it failed", { cadence: "irregular" }, { ...down, isDown: false }, false],
])("decides whether a node has recovered: %s", (_, health, failedRestart, back) => {
  expect(hasRecovered(failedRestart, { ...respondingState, ...health })).toBe(back);
});

/** Clears the pause of a stranded upgrade. */
function liftStranded(health: RpcState) {
  state.upgrade.set({ ...startedUpgrade, stage: "back-data", attempts: 3, end: "stranded" });
  const failedRestart = { reason: "the upgrade to 0.16.2", isDown: true };
  state.hold.set({ desired: { hash: "h" }, message: "m", sinceMs: 1, failed: failedRestart });
  const context = makeContext({ state, health: { current: () => health } });
  return liftPause({ why: "gatehouse resume was run", by: "gatehouse resume" }, context);
}

test("leaves a node alone if it was repaired after a stranded upgrade, and informs the operator", () => {
  const next = liftStranded({ answers: 5, height: 7 });
  expect(next).toBe(
    "The node responds again, so the upgrade to 0.16.2 counts as resolved manually, and nothing is retried.",
  );
  expect(state.upgrade.get()).toMatchObject({ end: "settled" });
  expect(state.retry.get()).toBeUndefined();
});

test("retries the rollback of a node that is down, without a concurrent restart", () => {
  const next = liftStranded({ answers: 0, failure: { reason: "ConnectionRefused", message: "" } });
  expect(next).toContain("The rollback from 0.16.2 to 0.15.0 is retried from the beginning");
  expect(state.upgrade.get()).toMatchObject({ stage: "back-stopping", attempts: 0 });
  expect(state.upgrade.get()?.end).toBeUndefined();
  expect(state.retry.get()).toBeUndefined();
});

test("pauses after a stranded upgrade until the operator resumes, even if the desired state changes", () => {
  state.upgrade.set({ ...startedUpgrade, stage: "back-data", attempts: 3, end: "stranded" });
  state.hold.set({ desired: { hash: "h" }, message: "m", sinceMs: 1 });
  const context = makeContext({ state, health: { current: () => ({ answers: 0 }) } });
  liftPauseIfChanged({ hash: "another", release: undefined }, context);
  expect(state.hold.get()).toBeDefined();
  expect(state.upgrade.get()).toMatchObject({ end: "stranded" });
});
