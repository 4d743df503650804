import { describe, expect, it } from "vitest";
import { backAttempts, interruptionsMax } from "#sidecar/upgrade/progress.ts";
import { formatEnd } from "./stack-plan.ts";
import { createStackWorld, type StackWorld } from "./testing/stack-world.ts";
import { createTyping, expectOld, runToEnd } from "./testing/typed-again.ts";
import { names, newImage, oldImage, torn } from "./testing/world-state.ts";

/** Killed during `pulumi up`, which continues. */
const whileUpdating = { inStage: "proving", changes: 1 } as const;

const atOnce = { at: 1, isAfter: false } as const;

describe("a pulumi up that outlives the command", () => {
  it("is waited for before anything is put back, however often the command is killed meanwhile", async () => {
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

  it("is interrupted at the limit that it had", async () => {
    const world = createStackWorld("good");
    world.state.updateMs = 1_000_000;
    const typing = createTyping(world);
    await typing.type(whileUpdating);
    world.during("look", () => expect(world.time.clock.monotonicMs()).toBeLessThan(10_000));
    world.state.updateMs = 100;
    const ended = await typing.type();
    expect(typing.lines).toContain("It takes longer than 1000 ms; interrupting it.");
    expect([ended?.record.end, world.image()]).toEqual(["committed", newImage]);
  });
});

describe("a stack that somebody else has locked", () => {
  it("is waited for as often as it takes, and leads to no way back", async () => {
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

describe("a node that a killed update has left", () => {
  it("ends within its grace before it is removed: it is at work over the only data", async () => {
    const world = createStackWorld("silent");
    const typing = createTyping(world);
    expect(await typing.type({ inStage: "back-proving", changes: 5 })).toBeUndefined();
    world.crashUpdates();
    world.state.lockedBy = undefined;
    const ended = await typing.type();
    expect(typing.lines.join("\n")).toContain("removing it");
    expectOld(world, ended?.record);
  });

  it("leaves its lock: the command that removes it is printed, and then the upgrade goes on", async () => {
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

describe("a sidecar that Pulumi leaves stopped, as its definition is unchanged", () => {
  it.each(["good", "silent"] as const)("is started, and waited for once more: %s", async (newVersion) => {
    const world = createStackWorld(newVersion);
    world.state.keepsSidecar = true;
    const ended = await createTyping(world).type();
    if (newVersion === "silent") expectOld(world, ended?.record);
    else expect([ended?.record.end, world.image(), world.areRunning()]).toEqual(["committed", newImage, true]);
  });
});

describe("a job on the data", () => {
  it("that takes too long fails its step: the node is started again, and has the room of what was copied", async () => {
    const world = createStackWorld("good");
    world.state.copyMs = 5_000;
    const { record } = await runToEnd(world);
    expect(record.failure).toContain("did not finish within 1000 ms");
    expectOld(world, record);
    expect(world.state.begun).toEqual(["copy", "remove", names.node, names.sidecar, "remove"]);
  });

  it("that takes too long on the way back is tried again", async () => {
    const world = createStackWorld("silent");
    world.during("update", () => (world.state.copyMs = 5_000));
    const typing = createTyping(world);
    const stranded = await typing.type();
    expect(stranded?.record).toMatchObject({ end: "stranded", attempts: backAttempts });
    expect(stranded?.record.note).toContain("did not finish within");
    world.state.copyMs = 100;
    expectOld(world, (await typing.type())?.record);
  });
});

describe("a node that somebody starts", () => {
  it("while its data are copied by a job that outlives the command has made a copy of no use", async () => {
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

  it("while its data are put back is reported, and is not taken for well the next time by itself", async () => {
    const world = createStackWorld("silent");
    world.during("restore", () => {
      world.startNode();
      world.stopNode();
    });
    const typing = createTyping(world);
    const stranded = await typing.type();
    expect(stranded?.record).toMatchObject({ end: "stranded", attempts: 1 });
    expect(stranded?.record.note).toContain("was started while the old data was restored");
    expect(stranded?.record.note).toContain("in .gatehouse-upgrade/2027-01-05/restoring on that volume");
    expect((await typing.type())?.record.end).toBe("rolled-back");
  });

  it("while its data are put back is found out by the next run, too, where the command was killed", async () => {
    const world = createStackWorld("silent");
    const typing = createTyping(world);
    await typing.type({ inStage: "back-data", changes: 2 });
    world.startNode();
    world.stopNode();
    world.time.advance(1_000);
    const stranded = await typing.type();
    expect(stranded?.record).toMatchObject({ end: "stranded", attempts: 1 });
  });
});

const untold = (world: StackWorld) => ({ ...world.record, before: { ...world.record.before, tellsVersion: false } });

describe("a version that the node does not report", () => {
  it("is proved by the image of the container that runs, and that is said", async () => {
    const world = createStackWorld("reports no version");
    const ended = await createTyping(world, untold(world)).type();
    expect(ended?.record.end).toBe("committed");
    expect(ended && formatEnd(ended.record, world.createPlatform())).toContain(
      "Verified: prod runs 0.17.0 (node:0.17.0), by the id of its image alone",
    );
  });

  it("is not proved where another image runs", async () => {
    const world = createStackWorld("reports no version");
    world.during("look", () => world.state.containers.set(names.node, { image: oldImage, running: true, starts: 9 }));
    const ended = await createTyping(world, untold(world)).type();
    expect(ended?.record.failure).toContain(`${names.node} does not run ${newImage}`);
    expect(ended?.record.end).toBe("rolled-back");
  });
});

describe("a way back", () => {
  it("is not proved where another command has brought another image that reports no version", async () => {
    const world = createStackWorld("reports no version");
    world.state.copyMs = 1_500;
    world.during("copy", () => world.state.containers.set(names.node, { image: newImage, running: false, starts: 1 }));
    const ended = await createTyping(world, untold(world)).type();
    expect(ended?.record).toMatchObject({ end: "stranded", attempts: backAttempts });
    expect(ended?.record.note).toContain(`${names.node} does not run ${oldImage}`);
  });

  it("requests nothing of Pulumi where nothing was configured yet", async () => {
    const world = createStackWorld("good");
    world.state.isPulumiThere = false;
    world.state.copyMs = 5_000;
    expectOld(world, (await runToEnd(world)).record);
  });

  it("starts the node before it runs Pulumi, and pauses between its tries", async () => {
    const world = createStackWorld("good");
    world.state.isPulumiThere = false;
    const typing = createTyping(world);
    const stranded = await typing.type();
    expect(stranded?.record).toMatchObject({ end: "stranded", attempts: backAttempts });
    expect(world.areRunning()).toBe(true);
    expect(world.time.clock.monotonicMs()).toBeGreaterThan(20_000);
    world.state.isPulumiThere = true;
    expectOld(world, (await typing.type())?.record);
  });

  it("has the time that it needs, however little the new version was given", async () => {
    const world = createStackWorld("silent");
    world.state.quietMs = 500;
    const limits = { ...world.record.limits, proveMs: 5 };
    const typing = createTyping(world, { ...world.record, limits }, { ...limits, proveMs: 1_000 });
    expectOld(world, (await typing.type())?.record);
  });

  it("is over once the old version is proved, whatever becomes of the copy", async () => {
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
