import { describe, expect, it } from "vitest";
import { createStackWorld } from "./testing/stack-world.ts";
import { createTyping, expectOld, runToEnd } from "./testing/typed-again.ts";
import { oldImage } from "./testing/world-state.ts";

describe("a cluster node that has to be killed", () => {
  it("fails the step and is restarted unchanged, since a snapshot of its data would be useless for a rollback", async () => {
    const world = createStackWorld("good", "kubernetes");
    world.state.cluster.isStubborn = true;
    const { record } = await runToEnd(world);
    expect(record.failure).toBe("node-0 was killed after its grace period: its data may be incomplete");
    expect([record.end, world.image(), world.areRunning()]).toEqual(["rolled-back", oldImage, true]);
    expect([world.state.cluster.pod?.held, world.state.cluster.snapshot]).toEqual([false, undefined]);
  });

  it("is reported even by a later run, if the command was killed before it saw how the node exited", async () => {
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
  it("fails the step if it is not ready in time: the node is restarted and the snapshot deleted", async () => {
    const world = createStackWorld("good", "kubernetes");
    world.state.copyMs = 5_000;
    const { record } = await runToEnd(world);
    expect(record.failure).toMatch(/^the VolumeSnapshot node-workspace-upgrade-2027-01-05 is not ready within \d+ ms$/);
    expectOld(world, record);
    expect(world.state.cluster.snapshot).toBeUndefined();
    expect(world.state.begun).toEqual(["flush", "gatehouse-prod-sidecar", "gatehouse-prod-node"]);
  });

  it("is reported if it can't be deleted, with the command to delete it", async () => {
    const world = createStackWorld("silent", "kubernetes");
    world.during("restore", () => (world.state.isRemoveBroken = true));
    const { record } = await runToEnd(world);
    expectOld(world, record);
    expect(record.note).toContain(
      "kubectl --context production -n pay delete volumesnapshot/node-workspace-upgrade-2027-01-05",
    );
  });

  it("is restored again if someone started the node on half-restored data", async () => {
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

  it("is useless if someone started the node in the meantime", async () => {
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

describe("a pulumi up killed before it recorded its changes", () => {
  it("is detected during the rollback, which refreshes Pulumi's state before changing the node again", async () => {
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
