import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { begunUpgrade } from "../../testing/begun-upgrade.ts";
import { observeConfig } from "../config/config-observation.ts";
import { observeProcess } from "../restart/process-observation.ts";
import { observeRestarts } from "../restart/restart-observation.ts";
import { openUpkeepState, type UpkeepState } from "../state/upkeep-state.ts";
import { applyUpgrade, type ApplyUpgradeDependencies } from "./apply-upgrade.ts";
import { observeUpgrade, upgradeConditions } from "./upgrade-observation.ts";

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

test.each([
  ["observes", ops, "upkeep.mode is observe"],
  ["waits", ops, "waits for gatehouse adopt"],
  ["acts", undefined, "restart.driver is none that stops and starts the node"],
] as const)("an upgrade that can't go on says so, and is wrong: %s", (authority, driver, words) => {
  state.upgrade.set({ ...begunUpgrade, stage: "copying" });
  const seen = {
    upgrade: observeUpgrade(state.upgrade.get()),
    config: observeConfig(),
    restarts: observeRestarts(),
    process: observeProcess(),
  };
  // Of a blocked upgrade nothing else is asked.
  const dependencies: Partial<ApplyUpgradeDependencies> = { state, driver };
  applyUpgrade(authority, seen, dependencies as ApplyUpgradeDependencies);
  const [condition] = upgradeConditions(seen.upgrade.now());
  expect(condition).toMatchObject({ status: "False", reason: "Blocked", message: expect.stringContaining(words) });
  expect(seen.restarts.now().running).toBeUndefined();
});
