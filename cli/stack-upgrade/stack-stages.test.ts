import { describe, expect, it } from "vitest";
import { rollbackAttemptsMax, interruptionsMax } from "#sidecar/upgrade/progress.ts";
import { formatEnd } from "./stack-plan.ts";
import { createStackWorld, type StackWorld } from "./testing/stack-world.ts";
import { createTyping, expectOld, runToEnd } from "./testing/typed-again.ts";
import { names, newImage, oldImage, torn } from "./testing/world-state.ts";

/** Killed during `pulumi up`, which continues. */
const whileUpdating = { inStage: "proving", changes: 1 } as const;

const atOnce = { at: 1, isAfter: false } as const;

describe("a pulumi up that outlives the command", () => {
  it("is awaited before anything is restored, however often the command is killed while waiting", async () => {
    const world = createStackWorld("good");
    world.state.updateMs = 900;
    const typing = createTyping(world);
    await typing.type(whileUpdating);
    for (let kill = 0; kill <= interruptionsMax; kill += 1) expect(await typing.type(atOnce)).toBeUndefined();
    const ended = await typing.type();
    expect(ended?.record.failure).toContain(`it was interrupted ${interruptionsMax + 1} times`);
    expect(typing.lines).toContain("pulumi up of an earlier run (process 100) is still running; waiting for it.");
    expectOld(world, ended?.record);
  });

  it("is interrupted at its original time limit", async () => {
    const world = createStackWorld("good");
    world.state.updateMs = 1_000_000;
    const typing = createTyping(world);
    await typing.type(whileUpdating);
    world.during("look", () => expect(world.time.clock.monotonicMs()).toBeLessThan(10_000));
    world.state.updateMs = 100;
    const ended = await typing.type();
    expect(typing.lines).toContain("It has taken longer than 1000 ms; interrupting it.");
    expect([ended?.record.end, world.image()]).toEqual(["committed", newImage]);
  });
});

describe("a stack locked by someone else", () => {
  it("is awaited as long as necessary, and causes no rollback", async () => {
    const world = createStackWorld("good");
    world.during("copy", () => (world.state.lockedBy = 1));
    const typing = createTyping(world);
    for (let time = 0; time <= interruptionsMax + 1; time += 1) {
      const ended = await typing.type();
      expect(ended?.waits).toContain("pulumi -C /srv/gatehouse cancel --yes --stack prod");
    }
    expect(typing.record()).toMatchObject({ stage: "proving", interruptions: 0 });
    world.state.lockedBy = undefined;
    expect((await typing.type())?.record.end).toBe("committed");
  });
});

describe("a node left by a killed update", () => {
  it("is given its grace period before removal, since it is using the only data", async () => {
    const world = createStackWorld("silent");
    const typing = createTyping(world);
    expect(await typing.type({ inStage: "back-proving", changes: 5 })).toBeUndefined();
    world.crashUpdates();
    world.state.lockedBy = undefined;
    const ended = await typing.type();
    expect(typing.lines.join("\n")).toContain("removing it");
    expectOld(world, ended?.record);
  });

  it("leaves its lock: the command to remove it is printed, and the upgrade then continues", async () => {
    const world = createStackWorld("good");
    const typing = createTyping(world);
    await typing.type(whileUpdating);
    world.crashUpdates();
    expect((await typing.type())?.waits).toContain("pulumi -C /srv/gatehouse cancel --yes --stack prod");
    world.state.lockedBy = undefined;
    const ended = await typing.type();
    expect([ended?.record.end, world.image()]).toEqual(["committed", newImage]);
  });
});

describe("a sidecar that Pulumi leaves stopped because its definition is unchanged", () => {
  it.each(["good", "silent"] as const)("is started and awaited once more: %s", async (newVersion) => {
    const world = createStackWorld(newVersion);
    world.state.keepsSidecar = true;
    const ended = await createTyping(world).type();
    if (newVersion === "silent") expectOld(world, ended?.record);
    else expect([ended?.record.end, world.image(), world.areRunning()]).toEqual(["committed", newImage, true]);
  });
});

describe("a job on the data", () => {
  it("fails its step if it exceeds its time limit: the node is restarted and the partial copy removed", async () => {
    const world = createStackWorld("good");
    world.state.copyMs = 5_000;
    const { record } = await runToEnd(world);
    expect(record.failure).toContain("did not finish within 1000 ms");
    expectOld(world, record);
    expect(world.state.begun).toEqual(["copy", "remove", names.node, names.sidecar, "remove"]);
  });

  it("is retried if it exceeds its time limit during the rollback", async () => {
    const world = createStackWorld("silent");
    world.during("update", () => (world.state.copyMs = 5_000));
    const typing = createTyping(world);
    const strandedRun = await typing.type();
    expect(strandedRun?.record).toMatchObject({ end: "stranded", attempts: rollbackAttemptsMax });
    expect(strandedRun?.record.note).toContain("did not finish within");
    world.state.copyMs = 100;
    expectOld(world, (await typing.type())?.record);
  });
});

describe("a node started by someone else", () => {
  it("makes a copy useless if its data is being copied by a job that outlives the command", async () => {
    const world = createStackWorld("good");
    const typing = createTyping(world);
    await typing.type({ inStage: "copying", changes: 2 });
    world.startNode();
    world.stopNode();
    world.time.advance(1_000);
    expect(world.state.copy).toContain(torn);
    const ended = await typing.type();
    expect(ended?.record.failure).toContain("was started while it had to stay stopped");
    expectOld(world, ended?.record);
    expect(world.state.copy).toBeUndefined();
  });

  it("is reported if its data is being restored, and is not assumed healthy on the next run", async () => {
    const world = createStackWorld("silent");
    world.during("restore", () => {
      world.startNode();
      world.stopNode();
    });
    const typing = createTyping(world);
    const strandedRun = await typing.type();
    expect(strandedRun?.record).toMatchObject({ end: "stranded", attempts: 1 });
    expect(strandedRun?.record.note).toContain("was started while the old data was restored");
    expect(strandedRun?.record.note).toContain("in .gatehouse-upgrade/2027-01-05/restoring on that volume");
    expect((await typing.type())?.record.end).toBe("rolled-back");
  });

  it("is detected by the next run, too, if its data was being restored and the command was killed", async () => {
    const world = createStackWorld("silent");
    const typing = createTyping(world);
    await typing.type({ inStage: "back-data", changes: 2 });
    world.startNode();
    world.stopNode();
    world.time.advance(1_000);
    const strandedRun = await typing.type();
    expect(strandedRun?.record).toMatchObject({ end: "stranded", attempts: 1 });
  });
});

const withoutBaseline = (world: StackWorld) => ({
  ...world.record,
  before: { ...world.record.before, tellsVersion: false },
});

describe("a version that the node does not report", () => {
  it("is verified by the image of the running container, as the command reports", async () => {
    const world = createStackWorld("reports no version");
    const ended = await createTyping(world, withoutBaseline(world)).type();
    expect(ended?.record.end).toBe("committed");
    expect(ended && formatEnd(ended.record, world.createPlatform())).toContain(
      "Verified: prod runs 0.17.0 (node:0.17.0), by the id of its image alone",
    );
  });

  it("is not verified if a different image is running", async () => {
    const world = createStackWorld("reports no version");
    world.during("look", () => world.state.containers.set(names.node, { image: oldImage, running: true, starts: 9 }));
    const ended = await createTyping(world, withoutBaseline(world)).type();
    expect(ended?.record.failure).toContain(`${names.node} does not run ${newImage}`);
    expect(ended?.record.end).toBe("rolled-back");
  });
});

describe("a rollback", () => {
  it("is not verified if a different command deployed a different image that reports no version", async () => {
    const world = createStackWorld("reports no version");
    world.state.copyMs = 1_500;
    world.during("copy", () => world.state.containers.set(names.node, { image: newImage, running: false, starts: 1 }));
    const ended = await createTyping(world, withoutBaseline(world)).type();
    expect(ended?.record).toMatchObject({ end: "stranded", attempts: rollbackAttemptsMax });
    expect(ended?.record.note).toContain(`${names.node} does not run ${oldImage}`);
  });

  it("does not call Pulumi if nothing was configured yet", async () => {
    const world = createStackWorld("good");
    world.state.isPulumiInstalled = false;
    world.state.copyMs = 5_000;
    expectOld(world, (await runToEnd(world)).record);
  });

  it("starts the node before it runs Pulumi, and pauses between attempts", async () => {
    const world = createStackWorld("good");
    world.state.isPulumiInstalled = false;
    const typing = createTyping(world);
    const strandedRun = await typing.type();
    expect(strandedRun?.record).toMatchObject({ end: "stranded", attempts: rollbackAttemptsMax });
    expect(world.areRunning()).toBe(true);
    expect(world.time.clock.monotonicMs()).toBeGreaterThan(20_000);
    world.state.isPulumiInstalled = true;
    expectOld(world, (await typing.type())?.record);
  });

  it("has its own time limit, however short that of the new version", async () => {
    const world = createStackWorld("silent");
    world.state.quietMs = 500;
    const limits = { ...world.record.limits, proveMs: 5 };
    const typing = createTyping(world, { ...world.record, limits }, { ...limits, proveMs: 1_000 });
    expectOld(world, (await typing.type())?.record);
  });

  it("is complete once the old version is verified, whatever happens to the copy", async () => {
    let world = createStackWorld("silent");
    let typing = createTyping(world);
    for (let changes = 1; world.state.begun.at(-1) !== "remove"; changes += 1) {
      world = createStackWorld("silent");
      typing = createTyping(world);
      // Killed as soon as the old version is verified, while its copy is being removed.
      expect(await typing.type({ inStage: "back-proving", changes })).toBeUndefined();
    }
    world.state.isRemoveBroken = true;
    const ended = await typing.type();
    expectOld(world, ended?.record);
    expect(ended?.record.note).toContain(
      "The copy of the data could not be removed (the disk is read-only). Remove it: docker --host unix:///run/docker.sock run --rm",
    );
  });
});
