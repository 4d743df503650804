import { expect, test } from "vitest";
import { begunUpgrade } from "../../testing/begun-upgrade.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { forwardStages, UpgradeError, type Stage } from "../../upgrade/progress.ts";
import { runUpgrade, type UpgradePlatform, type StageAction } from "../../upgrade/run-upgrade.ts";
import { keepRecord } from "./keep-record.ts";

/** Stages that all succeed, and only record their runs. */
function notedStages() {
  const made: Stage[] = [];
  const note: StageAction<UpgradeRecord> = async ({ stage }) => {
    made.push(stage);
  };
  const stages = Object.fromEntries(forwardStages.map((stage) => [stage, note]));
  return { made, stages: stages as UpgradePlatform<UpgradeRecord>["stages"] };
}

test("a step does not begin before it is on the disk that it does", async () => {
  const { made, stages } = notedStages();
  let stands = begunUpgrade;
  const dependencies = {
    platform: { stages, touches: "installing", requireStill: async () => undefined } as const,
    remember: async (record: UpgradeRecord) => {
      stands = record;
      if (record.stage === "installing") throw new UpgradeError("the disk is full", "fatal");
    },
    clock: { wallMs: () => 1 },
    signal: new AbortController().signal,
  };
  await expect(runUpgrade(begunUpgrade, { isResumed: false }, dependencies)).rejects.toThrow("the disk is full");
  expect(stands).toMatchObject({ stage: "installing" });
  expect(stands.end).toBeUndefined();
  expect(made).toEqual(["stopping", "copying"]);
  const { record: ended } = await runUpgrade(
    stands,
    { isResumed: true },
    { ...dependencies, remember: async () => undefined },
  );
  expect(ended.end).toBe("committed");
  expect(made).toEqual(forwardStages);
});

test("a start is charged in the write that enters its stage, and not again when it is resumed or has ended", () => {
  const writes: string[][] = [];
  let stands: UpgradeRecord | undefined;
  const state = {
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
  const enter = (record: UpgradeRecord) => keepRecord(record, state, budget);
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
