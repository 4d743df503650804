import { expect, test } from "vitest";
import { startedUpgrade } from "../testing/started-upgrade.ts";
import type { UpgradeRecord } from "../upkeep/state/upgrade-record.ts";
import { forwardStages, UpgradeError, type Stage } from "./progress.ts";
import { runUpgrade, type UpgradePlatform, type StageAction } from "./run-upgrade.ts";

/** Stages that all succeed, and only record their runs. */
function notedStages() {
  const made: Stage[] = [];
  const note: StageAction<UpgradeRecord> = async ({ stage }) => {
    made.push(stage);
  };
  const stages = Object.fromEntries(forwardStages.map((stage) => [stage, note]));
  return { made, stages: stages as UpgradePlatform<UpgradeRecord>["stages"] };
}

test("records each step on disk before starting it", async () => {
  const { made, stages } = notedStages();
  let storedRecord = startedUpgrade;
  const dependencies = {
    platform: { stages, touches: "installing", requireUnchanged: async () => undefined } as const,
    remember: async (record: UpgradeRecord) => {
      storedRecord = record;
      if (record.stage === "installing") throw new UpgradeError("the disk is full", "fatal");
    },
    clock: { wallMs: () => 1 },
    signal: new AbortController().signal,
  };
  await expect(runUpgrade(startedUpgrade, { isResumed: false }, dependencies)).rejects.toThrow("the disk is full");
  expect(storedRecord).toMatchObject({ stage: "installing" });
  expect(storedRecord.end).toBeUndefined();
  expect(made).toEqual(["stopping", "copying"]);
  const { record: ended } = await runUpgrade(
    storedRecord,
    { isResumed: true },
    { ...dependencies, remember: async () => undefined },
  );
  expect(ended.end).toBe("committed");
  expect(made).toEqual(forwardStages);
});
