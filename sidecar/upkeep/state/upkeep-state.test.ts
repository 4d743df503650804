import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { listStages } from "../../upgrade/progress.ts";
import { firstNewVersionStage } from "./upgrade-record.ts";
import { openUpkeepState, upkeepStateFile } from "./upkeep-state.ts";

let directory: string;

beforeEach(async () => {
  directory = await makeTestDirectory();
  openUpkeepState(directory)[Symbol.dispose]();
});

test.each([
  [{ stage: "copying", newRan: false }, "copying"],
  [{ stage: "migrating", newRan: true }, "installing"],
  [{ stage: "back-config", newRan: true, failure: "no block arrived" }, "back-installing"],
  [{ stage: "back-proving", newRan: true, failure: "no block arrived" }, "back-proving"],
  [{ stage: "back-proving", newRan: false, failure: "the disk is full" }, "back-restarting"],
])("continues an upgrade left in progress by an earlier release: %o", (record, stage) => {
  const database = new DatabaseSync(join(directory, upkeepStateFile));
  database.exec("PRAGMA user_version = 4");
  database.prepare("INSERT INTO fact VALUES ('upgrade', ?)").run(JSON.stringify(record));
  database.close();
  using state = openUpkeepState(directory);
  const upgrade = state.upgrade.get();
  expect(upgrade?.stage).toBe(stage);
  expect(upgrade && listStages(upgrade, firstNewVersionStage)).toContain(stage);
});
