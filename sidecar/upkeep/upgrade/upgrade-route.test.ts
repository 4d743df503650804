import { describe, expect, it, test } from "vitest";
import {
  backwardStages,
  forwardStages,
  type UpgradeRecord,
  type UpgradeStage,
  decideAfterHold,
} from "../state/upgrade-record.ts";
import { begunUpgrade as begun } from "../../testing/begun-upgrade.ts";
import {
  decideAfterInterruption as interrupt,
  decideAfterStage,
  backAttempts,
  interruptionsMax,
  StageError,
} from "../../upgrade/next-stage.ts";
import { upgradeRoute } from "./upgrade-route.ts";

const at = (stage: UpgradeStage, more: Partial<UpgradeRecord> = {}): UpgradeRecord => ({ ...begun, stage, ...more });
const fails = new StageError("it broke");
const done = undefined;
const decideAfterStep = (record: UpgradeRecord, outcome: StageError | undefined, nowMs: number) =>
  decideAfterStage(record, outcome, nowMs, upgradeRoute);
const decideAfterInterruption = (record: UpgradeRecord, nowMs: number) => interrupt(record, nowMs, upgradeRoute);

/** Runs a record to its end with steps of the given outcome; returns every stage. */
function stagesFrom(record: UpgradeRecord, comesOut: (stage: UpgradeStage, step: number) => boolean) {
  const stages: UpgradeStage[] = [];
  let now = record;
  for (let step = 0; now.end === undefined; step += 1) {
    if (step > 100) throw new Error("no end");
    stages.push(now.stage);
    now = decideAfterStep(now, comesOut(now.stage, step) ? done : fails, 2);
  }
  return { stages, ended: now };
}

test("where every step works, each is made once, in order, and the new version is committed", () => {
  const { stages, ended } = stagesFrom(begun, () => true);
  expect(stages).toEqual(forwardStages);
  expect(ended).toMatchObject({ end: "committed", newRan: true });
  expect(ended.failure).toBeUndefined();
});

describe("a step that fails leads back, by every step of the way back, and says why", () => {
  it.each(forwardStages.filter((stage) => stage !== "cleaning"))("%s", (failing) => {
    const { stages, ended } = stagesFrom(begun, (stage) => stage !== failing);
    // From the first new program on, a supervisor may have started the new version. Before, the node is proved as it is, and not stopped again.
    const newRan = forwardStages.indexOf(failing) >= forwardStages.indexOf("installing");
    const back = newRan ? backwardStages : ["back-discarding", "back-proving"];
    expect(stages).toEqual([...forwardStages.slice(0, forwardStages.indexOf(failing) + 1), ...back]);
    expect(ended).toMatchObject({ end: "rolled-back", failure: "it broke", newRan });
  });
});

test("on the way back the old programs and node.conf stand in place before the only copy of the data is used", () => {
  expect(backwardStages).toEqual(["back-stopping", "back-programs", "back-config", "back-data", "back-proving"]);
});

test("a copy that can't be removed undoes nothing", () => {
  expect(decideAfterStep(at("cleaning"), fails, 2)).toMatchObject({ end: "committed", note: "it broke" });
});

describe("a way back that fails is tried again from its beginning, and then left to a person", () => {
  it.each(backwardStages)("%s", (failing) => {
    const from = at("back-stopping", { failure: "first", newRan: true });
    const { stages, ended } = stagesFrom(from, (stage) => stage !== failing);
    expect(stages.filter((stage) => stage === failing)).toHaveLength(backAttempts);
    expect(ended).toMatchObject({ end: "stranded", stage: failing, failure: "first", note: "it broke" });
    const again = decideAfterHold(ended, false, 3);
    expect(again).toMatchObject({ stage: "back-stopping", attempts: 0, failure: "first" });
    expect(stagesFrom(again, () => true).ended.end).toBe("rolled-back");
  });
});

const failsOnce = (stage: UpgradeStage, step: number) => !(stage === "back-proving" && step === 0);

test("a node that was killed while the old version was proved is started once more", () => {
  const { stages, ended } = stagesFrom(at("back-proving", { failure: "first", newRan: true }), failsOnce);
  expect(stages).toEqual(["back-proving", ...backwardStages]);
  expect(ended.end).toBe("rolled-back");
  const untouched = stagesFrom(at("back-proving", { failure: "first" }), failsOnce);
  expect(untouched.stages).toEqual(["back-proving", "back-stopping", "back-discarding", "back-proving"]);
});

test("a sidecar that ends again and again in one step goes back; on the way back it goes on for as long as it takes", () => {
  let record = at("copying");
  for (let ended = 0; ended < interruptionsMax; ended += 1) record = decideAfterInterruption(record, 2);
  expect(record).toMatchObject({ stage: "copying", interruptions: interruptionsMax });
  record = decideAfterInterruption(record, 2);
  expect(record).toMatchObject({
    stage: "back-discarding",
    failure: "the sidecar exited 6 times while copying the data and the old programs",
  });
  for (let ended = 0; ended < 50; ended += 1) record = decideAfterInterruption(record, 2);
  expect(record.stage).toBe("back-discarding");
});

test("that the new version may have run is remembered before its first program is in place, and stays so", () => {
  const installing = decideAfterStep(at("copying"), done, 2);
  expect(installing).toMatchObject({ stage: "installing", newRan: true });
  expect(decideAfterStep(installing, fails, 3)).toMatchObject({ stage: "back-stopping", newRan: true });
});

test("every upgrade ends, whatever comes out of each stage and wherever its sidecar ends", () => {
  for (let seed = 1; seed <= 500; seed += 1) {
    let random = seed;
    const draw = (below: number) => {
      random = (random * 48_271) % 2_147_483_647;
      return random % below;
    };
    let record: UpgradeRecord = begun;
    const seen: UpgradeStage[] = [];
    for (let calls = 0; record.end === undefined; calls += 1) {
      if (calls > 200) throw new Error(`seed ${seed} has no end: ${seen.join(" ")}`);
      seen.push(record.stage);
      if (draw(4) === 0) record = decideAfterInterruption(record, 2);
      else record = decideAfterStep(record, draw(3) === 0 ? fails : done, 2);
    }
    // The old data are put back after the old programs and node.conf, if the new version may have seen the data, and then only.
    const [data, config] = [seen.indexOf("back-data"), seen.indexOf("back-config")];
    expect(data === -1 || (config !== -1 && config < data), `seed ${seed}`).toBe(true);
    expect(seen.includes("back-data") && !seen.includes("installing"), `seed ${seed}`).toBe(false);
    if (record.end === "rolled-back") expect(seen.includes("installing")).toBe(record.newRan);
  }
});
