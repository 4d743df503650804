import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bootTime, systemClock } from "#daemon/clock.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "../../settings.ts";
import { hashDesiredState, createDesiredState } from "../plan/desired-state.ts";
import { createRestartBudget } from "../restart/restart-budget.ts";
import { createStoredEventLog } from "../state/stored-event-log.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { begunUpgrade } from "../../testing/started-upgrade.ts";
import { observeConfig } from "../config/config-observation.ts";
import { observeProcess, observeRestarts } from "../restart/restart-observation.ts";
import { openUpkeepState, type UpkeepState } from "../state/upkeep-state.ts";
import { applyUpgrade, storeRecord, type ApplyUpgradeDependencies } from "./apply-upgrade.ts";
import { observeUpgrade, deriveUpgradeConditions } from "./upgrade-observation.ts";

const nothing = async () => ({});
const ops = { name: "ops", restart: nothing, stop: nothing, start: nothing };

let directory: string;
let state: UpkeepState;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gatehouse-apply-"));
  state = openUpkeepState(directory);
});

afterEach(() => {
  state[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

const stranded: UpgradeRecord = { ...begunUpgrade, stage: "back-proving", attempts: 2, failure: "no block came" };

function observed() {
  return {
    upgrade: observeUpgrade(state.upgrade.get(), undefined),
    config: observeConfig(),
    restarts: observeRestarts(),
    process: observeProcess(),
  };
}

const settings = readSettings(sidecarSettings, {
  env: { GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/n", GATEHOUSE_SIDECAR_NODE_HTTP_URL: "http://127.0.0.1:1" },
});

/** A node whose node.conf can't be read, so that no version is ever started. `restarts`: those in the last hour. */
function unreadable(restarts: number) {
  const log = pino({ level: "silent" });
  const budget = createRestartBudget({ perHour: 1 }, { store: state.store, clock: systemClock, boot: bootTime });
  for (let made = 0; made < restarts; made += 1) budget.record("before");
  const dependencies: Partial<ApplyUpgradeDependencies> = {
    state,
    settings,
    log,
    budget,
    driver: ops,
    nodeCli: undefined,
    rpc: { blockHash: async () => undefined, peers: async () => undefined },
    holders: { now: async () => [], runs: async () => false },
    clock: systemClock,
    events: createStoredEventLog(state.store, systemClock),
    place: {
      ...({} as ApplyUpgradeDependencies["place"]),
      layout: () => ({ configPath: "/n/bin/node.conf" }) as ReturnType<ApplyUpgradeDependencies["place"]["layout"]>,
      read: async () => ({ ok: false, problem: { reason: "Unreadable", message: "node.conf is gone" } }) as never,
    },
    health: {
      check: async () => ({ answers: 0, failure: { reason: "ConnectionRefused", message: "", isPortClosed: true } }),
    },
    observer: { check: async () => undefined },
    metrics: { upgraded: () => undefined },
    finishes: () => undefined,
    wake: () => undefined,
    signal: new AbortController().signal,
  };
  return dependencies as ApplyUpgradeDependencies;
}

test("pauses a stranded upgrade with the desired state at its end, so that an earlier change does not resume it", async () => {
  state.upgrade.set(stranded);
  const seen = observed();
  applyUpgrade("acts", seen, unreadable(0));
  await seen.restarts.now().running;
  expect(state.upgrade.get()).toMatchObject({ end: "stranded" });
  const desired = { hash: hashDesiredState(createDesiredState(settings, "/n/data")) };
  expect(state.hold.get()).toMatchObject({ desired });
});

test("starts no further step of an upgrade if its progress can't be stored, reports so, and continues once it can", async () => {
  state.upgrade.set({ ...stranded, failedStage: "proving", attempts: 0 });
  const seen = observed();
  const dependencies = unreadable(0);
  const read = () => {
    state.store.suspend({ reason: "DiskFull", message: "/s is full." });
    return dependencies.place.read();
  };
  applyUpgrade("acts", seen, { ...dependencies, place: { ...dependencies.place, read } });
  await seen.restarts.now().running;
  expect(state.upgrade.get()).toMatchObject({ stage: "back-stopping", attempts: 1 });
  applyUpgrade("acts", seen, dependencies);
  expect(seen.restarts.now().running).toBeUndefined();
  const [condition] = deriveUpgradeConditions(seen.upgrade.now());
  expect(condition).toMatchObject({ status: "False", reason: "Blocked" });
  expect(condition?.message).toContain("its progress can't be stored: /s is full. It then continues automatically.");
  state.store.suspend(undefined);
  applyUpgrade("acts", seen, dependencies);
  await seen.restarts.now().running;
  expect(state.upgrade.get()).toMatchObject({ stage: "back-proving", attempts: 3, end: "stranded" });
});

test.each([
  ["observes", ops, "upkeep.mode is observe"],
  ["waits", ops, "waits for gatehouse adopt"],
  ["acts", undefined, "restart.driver can't stop and start the node"],
] as const)("reports an upgrade that can't continue as blocked: %s", (authority, driver, words) => {
  state.upgrade.set({ ...begunUpgrade, stage: "copying" });
  const seen = observed();
  // Nothing else about a blocked upgrade is checked.
  const dependencies: Partial<ApplyUpgradeDependencies> = { state, driver };
  applyUpgrade(authority, seen, dependencies as ApplyUpgradeDependencies);
  const [condition] = deriveUpgradeConditions(seen.upgrade.now());
  expect(condition).toMatchObject({ status: "False", reason: "Blocked", message: expect.stringContaining(words) });
  expect(seen.restarts.now().running).toBeUndefined();
});

test("counts a start when its stage is entered, but not again when it resumes or completes", () => {
  const writes: string[][] = [];
  let stands: UpgradeRecord | undefined;
  const notedState = {
    atomically: (change: () => void) => {
      writes.push([]);
      change();
    },
    upgrade: {
      get: () => stands,
      set: (record: UpgradeRecord | undefined) => {
        stands = record;
        writes.at(-1)?.push(record?.stage ?? "");
      },
    },
  };
  const budget = { record: (reason: string) => void writes.at(-1)?.push(reason) };
  const enter = (record: UpgradeRecord) => storeRecord(record, notedState, budget);
  enter({ ...begunUpgrade, stage: "installing" });
  enter({ ...begunUpgrade, stage: "proving" });
  enter({ ...begunUpgrade, stage: "proving", interruptions: 1 });
  enter({ ...begunUpgrade, stage: "back-proving" });
  enter({ ...begunUpgrade, stage: "back-proving", end: "rolled-back" });
  expect(writes).toEqual([
    ["installing"],
    ["upgrade to 0.16.2", "proving"],
    ["proving"],
    ["upgrade to 0.16.2", "back-proving"],
    ["back-proving"],
  ]);
});
