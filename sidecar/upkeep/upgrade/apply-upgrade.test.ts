import { beforeEach, expect, test } from "vitest";
import { bootTime, systemClock } from "#daemon/clock.ts";
import { makeContext, openTestState, readTestSettings } from "../../testing/upkeep-context.ts";
import { hashDesiredState, createDesiredState } from "../plan/desired-state.ts";
import { createRestartBudget } from "../restart/restart-budget.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { startedUpgrade } from "../../testing/started-upgrade.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { applyUpgrade, storeRecord } from "./apply-upgrade.ts";
import { deriveUpgradeConditions } from "./upgrade-observation.ts";

const noop = async () => ({});
const ops = { name: "ops", restart: noop, stop: noop, start: noop };

let state: UpkeepState;

beforeEach(async () => {
  state = await openTestState();
});

const strandedUpgrade: UpgradeRecord = {
  ...startedUpgrade,
  stage: "back-proving",
  attempts: 2,
  failure: "no block arrived",
};

const settings = readTestSettings();

/** A node whose node.conf can't be read, so no version is ever started. */
function unreadable(read = () => undefined) {
  return makeContext({
    state,
    settings,
    budget: createRestartBudget({ perHour: 1 }, { store: state.store, clock: systemClock, boot: bootTime }),
    driver: ops,
    holders: { now: async () => [], runs: async () => false },
    place: {
      layout: () => ({ configPath: "/n/bin/node.conf" }),
      read: async () => {
        read();
        return { ok: false, problem: { reason: "Unreadable", message: "node.conf is gone" } };
      },
    },
    health: {
      check: async () => ({ answers: 0, failure: { reason: "ConnectionRefused", message: "", isPortClosed: true } }),
    },
    observer: { check: async () => undefined },
  });
}

test("pauses a stranded upgrade with the desired state at its end, so that an earlier change doesn't resume it", async () => {
  state.upgrade.set(strandedUpgrade);
  const context = unreadable();
  applyUpgrade(context);
  await context.restarts.now().running;
  expect(state.upgrade.get()).toMatchObject({ end: "stranded" });
  const desiredState = { hash: hashDesiredState(createDesiredState(settings, "/n/data")) };
  expect(state.hold.get()).toMatchObject({ desired: desiredState });
});

test("starts no further step of an upgrade if its progress can't be stored, reports that, and continues once it can", async () => {
  state.upgrade.set({ ...strandedUpgrade, failedStage: "proving", attempts: 0 });
  let reads = 0;
  const context = unreadable(() => {
    reads += 1;
    if (reads === 1) state.store.suspend({ reason: "DiskFull", message: "/s is full." });
  });
  applyUpgrade(context);
  await context.restarts.now().running;
  expect(state.upgrade.get()).toMatchObject({ stage: "back-stopping", attempts: 1 });
  applyUpgrade(context);
  expect(context.restarts.now().running).toBeUndefined();
  const [condition] = deriveUpgradeConditions(context.upgrade.now());
  expect(condition).toMatchObject({ status: "False", reason: "Blocked" });
  expect(condition?.message).toContain("its progress can't be stored: /s is full. It then continues automatically.");
  state.store.suspend(undefined);
  applyUpgrade(context);
  await context.restarts.now().running;
  expect(state.upgrade.get()).toMatchObject({ stage: "back-proving", attempts: 3, end: "stranded" });
});

test.each([
  ["observes", ops, "upkeep.mode is observe"],
  ["waits", ops, "waits for gatehouse adopt"],
  ["acts", undefined, "restart.driver can't stop and start the node"],
] as const)("reports an upgrade that can't continue as blocked: %s", (authority, driver, words) => {
  state.upgrade.set({ ...startedUpgrade, stage: "copying" });
  // A blocked upgrade gets no other checks.
  const context = makeContext({ state, driver, authority: () => authority });
  applyUpgrade(context);
  const [condition] = deriveUpgradeConditions(context.upgrade.now());
  expect(condition).toMatchObject({ status: "False", reason: "Blocked", message: expect.stringContaining(words) });
  expect(context.restarts.now().running).toBeUndefined();
});

test("counts a start when its stage is entered, but not again when it resumes or completes", () => {
  const writes: string[][] = [];
  let storedRecord: UpgradeRecord | undefined;
  const notedState = {
    atomically: (change: () => void) => {
      writes.push([]);
      change();
    },
    upgrade: {
      get: () => storedRecord,
      set: (record: UpgradeRecord | undefined) => {
        storedRecord = record;
        writes.at(-1)?.push(record?.stage ?? "");
      },
    },
  };
  const budget = { record: (reason: string) => void writes.at(-1)?.push(reason) };
  const enter = (record: UpgradeRecord) => storeRecord(record, notedState, budget);
  enter({ ...startedUpgrade, stage: "installing" });
  enter({ ...startedUpgrade, stage: "proving" });
  enter({ ...startedUpgrade, stage: "proving", interruptions: 1 });
  enter({ ...startedUpgrade, stage: "back-proving" });
  enter({ ...startedUpgrade, stage: "back-proving", end: "rolled-back" });
  expect(writes).toEqual([
    ["installing"],
    ["upgrade to 0.16.2", "proving"],
    ["proving"],
    ["upgrade to 0.16.2", "back-proving"],
    ["back-proving"],
  ]);
});
