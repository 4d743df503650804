import { describe, expect, it, test } from "vitest";
import {
  rollbackAttemptsMax,
  rollbackStages,
  createFirstStage,
  decideAfterInterruption as interrupt,
  decideAfterStage,
  forwardStages,
  interruptionsMax,
  UpgradeError,
  type Progress,
  type Stage,
} from "./progress.ts";

const begun = createFirstStage(1);
const at = (stage: Stage, more: Partial<Progress> = {}): Progress => ({ ...begun, stage, ...more });
const fails = new UpgradeError("it broke");
const done = undefined;
const touches = "installing";
const decideAfterStep = (record: Progress, outcome: UpgradeError | undefined, nowMs: number) =>
  decideAfterStage(record, outcome, nowMs, touches);
const decideAfterInterruption = (record: Progress, nowMs: number) => interrupt(record, nowMs, touches);
const goingBack = { failure: "first", failedStage: "proving" } as const;

/** Runs a record to its end with steps of the given outcome; returns all stages. */
function listStagesFrom(record: Progress, getStepOutcome: (stage: Stage, step: number) => boolean) {
  const stages: Stage[] = [];
  let now = record;
  for (let step = 0; now.end === undefined; step += 1) {
    if (step > 100) throw new Error("no end");
    stages.push(now.stage);
    now = decideAfterStep(now, getStepOutcome(now.stage, step) ? done : fails, 2);
  }
  return { stages, ended: now };
}

test("runs each step once, in order, and commits the new version if all succeed", () => {
  const { stages, ended } = listStagesFrom(begun, () => true);
  expect(stages).toEqual(forwardStages);
  expect(ended).toMatchObject({ end: "committed" });
  expect(ended.failure).toBeUndefined();
});

describe("rolls back through every rollback step after a failed step, and reports why", () => {
  it.each(forwardStages.filter((stage) => stage !== "cleaning"))("%s", (failing) => {
    const { stages, ended } = listStagesFrom(begun, (stage) => stage !== failing);
    // Once the first new program is installed, a supervisor may have started the new version. Before that, the node is verified as it is,
    // and not stopped again.
    const mayHaveRun = forwardStages.indexOf(failing) >= forwardStages.indexOf("installing");
    const back = mayHaveRun ? rollbackStages : ["back-discarding", "back-restarting"];
    expect(stages).toEqual([...forwardStages.slice(0, forwardStages.indexOf(failing) + 1), ...back]);
    expect(ended).toMatchObject({ end: "rolled-back", failure: "it broke", failedStage: failing });
  });
});

test("restores the old binaries and node.conf before touching the only copy of the data", () => {
  expect(rollbackStages).toEqual(["back-stopping", "back-installing", "back-data", "back-proving"]);
});

test("does not roll back if a copy can't be removed", () => {
  expect(decideAfterStep(at("cleaning"), fails, 2)).toMatchObject({ end: "committed", note: "it broke" });
});

describe("retries a failed rollback from the beginning, then leaves it to the operator", () => {
  it.each(rollbackStages)("%s", (failing) => {
    const from = at("back-stopping", goingBack);
    const { stages, ended } = listStagesFrom(from, (stage) => stage !== failing);
    expect(stages.filter((stage) => stage === failing)).toHaveLength(rollbackAttemptsMax);
    expect(ended).toMatchObject({ end: "stranded", stage: failing, failure: "first", note: "it broke" });
    const again = decideAfterInterruption(ended, 3);
    expect(again).toMatchObject({ stage: "back-stopping", attempts: 0, failure: "first" });
    expect(listStagesFrom(again, () => true).ended.end).toBe("rolled-back");
  });
});

const failsOnce = (_: Stage, step: number) => step !== 0;

test("restarts a node once if it was killed while the old version was being verified", () => {
  const { stages, ended } = listStagesFrom(at("back-proving", goingBack), failsOnce);
  expect(stages).toEqual(["back-proving", ...rollbackStages]);
  expect(ended.end).toBe("rolled-back");
  const untouchedStages = listStagesFrom(
    at("back-restarting", { failure: "first", failedStage: "copying" }),
    failsOnce,
  );
  expect(untouchedStages.stages).toEqual(["back-restarting", "back-stopping", "back-discarding", "back-restarting"]);
});

test("rolls back if the sidecar keeps exiting in the same step, but never abandons the rollback itself", () => {
  let record = at("copying");
  for (let ended = 0; ended < interruptionsMax; ended += 1) record = decideAfterInterruption(record, 2);
  expect(record).toMatchObject({ stage: "copying", interruptions: interruptionsMax });
  record = decideAfterInterruption(record, 2);
  expect(record).toMatchObject({
    stage: "back-discarding",
    failure: "it was interrupted 6 times while copying the data",
  });
  for (let ended = 0; ended < 50; ended += 1) record = decideAfterInterruption(record, 2);
  expect(record.stage).toBe("back-discarding");
});

test("from the installing stage on, remembers that the new version may have run", () => {
  const installingStage = decideAfterStep(at("copying"), done, 2);
  expect(installingStage).toMatchObject({ stage: "installing" });
  const back = decideAfterStep(installingStage, fails, 3);
  expect(back).toMatchObject({ stage: "back-stopping", failedStage: "installing" });
  expect(decideAfterStep(back, done, 4)).toMatchObject({ stage: "back-installing", failedStage: "installing" });
});

test("finishes every upgrade, whatever each stage returns and whenever the sidecar exits", () => {
  for (let seed = 1; seed <= 500; seed += 1) {
    let random = seed;
    const draw = (below: number) => {
      random = (random * 48_271) % 2_147_483_647;
      return random % below;
    };
    let record: Progress = begun;
    const seen: Stage[] = [];
    for (let calls = 0; record.end === undefined; calls += 1) {
      if (calls > 200) throw new Error(`seed ${seed} has no end: ${seen.join(" ")}`);
      seen.push(record.stage);
      if (draw(4) === 0) record = decideAfterInterruption(record, 2);
      else record = decideAfterStep(record, draw(3) === 0 ? fails : done, 2);
    }
    // The old data is restored after the old programs and node.conf, and only if the new version may have seen the
    // data.
    const [data, config] = [seen.indexOf("back-data"), seen.indexOf("back-installing")];
    expect(data === -1 || (config !== -1 && config < data), `seed ${seed}`).toBe(true);
    expect(seen.includes("back-data") && !seen.includes("installing"), `seed ${seed}`).toBe(false);
    if (record.end === "rolled-back") expect(seen.includes("installing")).toBe(seen.includes("back-data"));
  }
});
