import { describe, expect, it } from "vitest";
import { createStackWorld } from "./testing/stack-world.ts";
import { createTyping, expectOld, runToEnd } from "./testing/typed-again.ts";
import { oldImage } from "./testing/world-state.ts";

describe("a node of a cluster that has to be killed", () => {
  it("fails the step, and is started as it was: a snapshot of its data would be useless for a roll-back", async () => {
    const world = createStackWorld("good", "kubernetes");
    world.state.cluster.isStubborn = true;
    const { record } = await runToEnd(world);
    expect(record.failure).toBe("node-0 was killed after its grace period: its data may be incomplete");
    expect([record.end, world.image(), world.areRunning()]).toEqual(["rolled-back", oldImage, true]);
    expect([world.state.cluster.pod?.held, world.state.cluster.snapshot]).toEqual([false, undefined]);
  });

  it("is told by a later run, too, where the command was killed before it saw how the node ended", async () => {
    const world = createStackWorld("good", "kubernetes");
    world.state.cluster.isStubborn = true;
    const typing = createTyping(world);
    // The pod is kept alive, and the StatefulSet is scaled to 0.
    await typing.type({ inStage: "stopping", changes: 2 });
    world.time.advance(1_000);
    expect(world.state.cluster.pod).toMatchObject({ held: true, ended: "killed" });
    expect((await typing.type())?.record.failure).toContain("was killed after its grace period");
  });
});

describe("a VolumeSnapshot", () => {
  it("that is not ready in time fails the step: the node is started again, and the snapshot is deleted", async () => {
    const world = createStackWorld("good", "kubernetes");
    world.state.copyMs = 5_000;
    const { record } = await runToEnd(world);
    expect(record.failure).toMatch(/^the VolumeSnapshot node-workspace-upgrade-2027-01-05 is not ready within \d+ ms$/);
    expectOld(world, record);
    expect(world.state.cluster.snapshot).toBeUndefined();
    expect(world.state.begun).toEqual(["flush", "gatehouse-prod-sidecar", "gatehouse-prod-node"]);
  });

  it("that can't be deleted is told, with the command that does it", async () => {
    const world = createStackWorld("silent", "kubernetes");
    world.during("restore", () => (world.state.isRemoveBroken = true));
    const { record } = await runToEnd(world);
    expectOld(world, record);
    expect(record.note).toContain(
      "kubectl --context production -n pay delete volumesnapshot/node-workspace-upgrade-2027-01-05",
    );
  });

  it("is restored once more where somebody started the node over data that were half put back", async () => {
    const world = createStackWorld("silent", "kubernetes");
    world.during("restore", () => {
      world.startNode();
      world.stopNode();
    });
    const { record, lines } = await runToEnd(world);
    expectOld(world, record);
    expect(record.attempts).toBe(1);
    expect(lines.filter((line) => line.includes("restoring the old data"))).toHaveLength(2);
  });

  it("is of no use where somebody started the node meanwhile", async () => {
    const world = createStackWorld("good", "kubernetes");
    world.during("copy", () => {
      world.startNode();
      world.stopNode();
    });
    const { record } = await runToEnd(world);
    expect(record.failure).toBe("node-0 was started while it had to stay stopped");
    expectOld(world, record);
  });
});

describe("a pulumi up that was killed before it noted what it had changed", () => {
  it("is found out on the way back, and Pulumi looks at the node before it changes that again", async () => {
    const world = createStackWorld("silent", "kubernetes");
    world.during("update", () => {
      world.crashUpdates();
      world.state.lockedBy = undefined;
    });
    const { record, lines } = await runToEnd(world);
    expectOld(world, record);
    expect(lines).toContain(
      "In Pulumi's state the node has this image, but it has another; refreshing the state and running pulumi up again.",
    );
    expect(world.state.pulumiKnows).toBe(oldImage);
  });
});
