import { beforeEach, expect, test } from "vitest";
import { startedUpgrade } from "../../testing/started-upgrade.ts";
import { makeContext, openTestState } from "../../testing/upkeep-context.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { beginUpgrade } from "./apply-upgrade.ts";

const check = {
  plan: { from: "0.15.0", steps: ["Stop."], problems: [], warnings: [], digest: "d1" },
  record: startedUpgrade,
};
const noop = async () => ({});
let state: UpkeepState;

beforeEach(async () => {
  state = await openTestState();
});

function begin(digest: string | undefined, isRestarting = false) {
  const driver = { name: "ops", restart: noop, stop: noop, start: noop };
  const parts = { driver, state, isRestarting: () => isRestarting, budget: { allows: () => true } };
  return beginUpgrade(check, digest, makeContext({ settings: { restart: { driver: "ops" } }, ...parts }));
}

test("starts only the approved upgrade, not one that was only shown or has changed since", () => {
  expect(begin(undefined).result).toBe("shown");
  expect(begin("d2").result).toBe("another");
  expect(state.upgrade.get()).toBeUndefined();
  expect(begin("d1")).toMatchObject({ result: "begun", beganMs: startedUpgrade.beganMs });
  expect(state.upgrade.get()).toEqual(startedUpgrade);
});

test("rejects a second request that was checked during the first", () => {
  expect(begin("d1").result).toBe("begun");
  expect(begin("d1")).toMatchObject({
    result: "rejected",
    plan: { steps: [], problems: ["an upgrade is in progress"] },
  });
});

test("rejects an upgrade if a pause or restart came up during the check", () => {
  expect(begin("d1", true)).toMatchObject({ result: "rejected" });
  state.hold.set({ desired: { hash: "h" }, message: "m", sinceMs: 1 });
  expect(begin("d1")).toMatchObject({
    result: "rejected",
    plan: { problems: [expect.stringContaining("Gatehouse is paused")] },
  });
  expect(state.upgrade.get()).toBeUndefined();
});
