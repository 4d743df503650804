import { describe, expect, it } from "vitest";
import { interruptionsMax } from "#sidecar/upgrade/progress.ts";
import type { RunResult } from "#sidecar/upgrade/run-upgrade.ts";
import { runStackUpgrade } from "./stack-stages.ts";
import type { StackRecord } from "./stack-record.ts";
import { createStackWorld, type StackWorld } from "./testing/stack-world.ts";
import { runToEnd } from "./testing/typed-again.ts";
import { newImage, oldBlock, oldImage, torn, type NewVersion } from "./testing/world-state.ts";

function expectOneOfTwo(world: StackWorld, { record }: RunResult<StackRecord>): void {
  expect(world.areRunning()).toBe(true);
  expect(world.state.live[0]).toBe(oldBlock);
  expect(world.state.live).not.toContain(torn);
  expect(world.state.config["gatehouse:nodeImage"]).toBe(world.image());
  expect([world.state.copy, ...world.state.marks, ...listLeftovers(world)]).toEqual([undefined]);
  if (record.end === "committed") expect(world.image()).toBe(newImage);
  else {
    expect([record.end, world.image()]).toEqual(["rolled-back", oldImage]);
    expect(world.state.live.join()).not.toContain(newImage);
  }
}

const bad: readonly NewVersion[] = ["silent", "another version", "loses a block", "does not start"];

/** Lists leftovers of an upgrade in a cluster, which must be empty. */
function listLeftovers({ state: { cluster } }: StackWorld): readonly string[] {
  return [
    ...(cluster.snapshot === undefined ? [] : ["snapshot"]),
    ...(cluster.hasCopyClaim ? ["claim"] : []),
    ...(cluster.pod?.held === true ? ["held pod"] : []),
    ...(cluster.isOwned ? ["field"] : []),
  ];
}

describe.each(["docker", "kubernetes"] as const)("a stack upgrade on %s", (kind) => {
  it("ends with the new version verified and the copy removed", async () => {
    const world = createStackWorld("good", kind);
    const result = await runToEnd(world);
    expect(result.record.end).toBe("committed");
    expectOneOfTwo(world, result);
    expect(result.lines[0]).toBe("Now stopping the node.");
  });

  it.each([
    ["silent", "the node does not respond"],
    ["another version", "it runs as 0.16.2, not as 0.17.0"],
    ["loses a block", "its data differs: block 37"],
    ["does not start", "the node does not respond"],
  ] as const)("rolls back image, data and configuration for a version with this fault: %s", async (newVersion, why) => {
    const world = createStackWorld(newVersion, kind);
    const result = await runToEnd(world);
    expect(result.record.end).toBe("rolled-back");
    expect(result.record.failure).toContain(why);
    if (kind === "docker") expect(result.record.note).toContain("discard");
    expectOneOfTwo(world, result);
  });

  it.each(["good", ...bad] as const)(
    "ends with one of the two versions and its data, whenever it is killed: %s",
    async (newVersion) => {
      const whole = createStackWorld(newVersion, kind);
      await runToEnd(whole);
      expect(whole.kills.changes()).toBeGreaterThan(15);
      for (let at = 1; at <= whole.kills.changes(); at += 1) {
        for (const isAfter of [false, true]) {
          const world = createStackWorld(newVersion, kind);
          expectOneOfTwo(world, await runToEnd(world, [{ at, isAfter }]));
        }
      }
    },
  );

  it("does so even if killed repeatedly, and finally gives up on the new version", async () => {
    const world = createStackWorld("good", kind);
    const kills = Array.from({ length: interruptionsMax + 1 }, () => ({ inStage: "copying", changes: 1 }) as const);
    const result = await runToEnd(world, kills);
    expect(result.record.failure).toContain(`it was interrupted ${interruptionsMax + 1} times`);
    expect(result.record.end).toBe("rolled-back");
    expectOneOfTwo(world, result);
  });

  it("stops between two steps on request, and later continues with the next one", async () => {
    const world = createStackWorld("good", kind);
    const stopController = new AbortController();
    const storedRecords: StackRecord[] = [];
    const remember = async (record: StackRecord) => {
      storedRecords.push(record);
      if (record.stage === "proving") stopController.abort();
    };
    const begins = { isResumed: false, remember };
    const ended = await runStackUpgrade(world.record, begins, world.steps(stopController.signal));
    expect(ended.waits).toContain("signal");
    expect([storedRecords.at(-1)?.stage, world.image()]).toEqual(["proving", oldImage]);
    const { signal } = new AbortController();
    const again = await runStackUpgrade(ended.record, { isResumed: true, remember }, world.steps(signal));
    expectOneOfTwo(world, again);
    expect(again.record.end).toBe("committed");
  });
});
