import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import { createProcessLock } from "#daemon/files/process-lock.ts";
import { defaultLimits } from "./stack-record.ts";
import type { StackUpgradeOptions } from "./begin-upgrade.ts";
import { createStackWorld, type StackWorld } from "./testing/stack-world.ts";
import { createProgramDirectory, removeDirectory, typeInWorld } from "./testing/typed-command.ts";
import { newImage, oldImage, prefix } from "./testing/world-state.ts";

let directory: string;
let world: StackWorld;
/** The configuration of each Pulumi run, in order. */
let configFiles: string[];
let stopController: AbortController;

beforeEach(async () => {
  directory = await createProgramDirectory();
  await writeFile(join(directory, "other.yaml"), "");
  world = createStackWorld("good");
  configFiles = [];
  stopController = new AbortController();
});

afterEach(() => removeDirectory(directory));

const type = (more: Partial<StackUpgradeOptions> = {}) =>
  typeInWorld(world, directory, more, {
    signal: stopController.signal,
    useConfig: (file) => configFiles.push(file),
  });

const again = { requested: undefined } as const;
const readRecordFile = async () =>
  JSON.parse(await readFile(join(directory, ".gatehouse-upgrade.prod.json"), "utf8")) as Record<string, unknown>;

describe("gatehouse upgrade --stack", () => {
  it("upgrades the stack to the new image and leaves no record", async () => {
    const { status, printed } = await type();
    expect(printed).toContain("Verified: prod runs 0.17.0 (node:0.17.0), as it reports itself.");
    expect([status, world.image()]).toEqual([0, newImage]);
    expect((await readdir(directory)).filter((name) => name.startsWith(".gatehouse"))).toEqual([]);
  });

  it("continues with its original configuration, but with the new time limits", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    const configFile = join(directory, "other.yaml");
    const begun = await type({ configFile });
    expect(begun.status).toBe(1);
    expect(begun.printed).toContain(
      `Continue: ${formatOwnCommand(process.cwd())} upgrade --stack prod --continue --cwd ${directory} --config-file ${configFile}\n`,
    );
    expect(begun.printed).toContain(`pulumi -C ${directory} cancel --yes --stack prod`);
    await type({ ...again, limits: { copyMs: 7 } });
    expect(await readRecordFile()).toMatchObject({ configFile, limits: { ...defaultLimits, copyMs: 7 } });
    world.state.lockedBy = undefined;
    expect((await type(again)).status).toBe(0);
    expect(new Set(configFiles)).toEqual(new Set([configFile]));
  });

  it("continues in a directory that was moved, with the specified configuration", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    await type();
    const moved = `${directory}-moved`;
    await rename(directory, moved);
    directory = moved;
    const configFile = join(moved, "Pulumi.prod.yaml");
    expect((await type(again)).printed).toContain(
      "Pulumi.prod.yaml is not a readable file; specify it by --config-file",
    );
    const begun = await type({ ...again, configFile });
    expect(begun.printed).toContain(`--continue --cwd ${moved} --config-file ${configFile}\n`);
    world.state.lockedBy = undefined;
    expect((await type(again)).status).toBe(0);
    expect(configFiles.slice(1)).toEqual([configFile, configFile]);
  });

  it("leaves an upgrade started by an earlier release untouched, and reports it", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    await type();
    const text = `${JSON.stringify({ ...(await readRecordFile()), newRan: true })}\n`;
    await writeFile(join(directory, ".gatehouse-upgrade.prod.json"), text);
    const rejectedRun = await type(again);
    expect(rejectedRun.printed).toContain("continue with the version that started it");
    expect([rejectedRun.status, await readFile(join(directory, ".gatehouse-upgrade.prod.json"), "utf8")]).toEqual([
      1,
      text,
    ]);
    expect((await type()).printed).toContain("continue with the version that started it");
  });

  it("finds an upgrade in progress however the stack name is written", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    await type();
    world.state.lockedBy = undefined;
    const rejectedRun = await type({
      stack: "acme/gatehouse/prod",
      requested: { image: "node:0.18.0", version: undefined },
    });
    expect(rejectedRun.printed).toContain(
      `continue it: ${formatOwnCommand(process.cwd())} upgrade --stack prod --continue`,
    );
    expect((await type({ ...again, stack: "acme/gatehouse/prod" })).status).toBe(0);
  });

  it("does not continue on a different backend, which may have a stack of the same name", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    await type();
    world.state.lockedBy = undefined;
    world.state.backend = "https://app.pulumi.example/alice";
    const rejectedRun = await type(again);
    expect(rejectedRun.printed).toContain(
      "started with the backend file:///srv/state, but Pulumi is logged in to https://app.pulumi.example: log in to the former",
    );
    expect([rejectedRun.status, world.state.config["gatehouse:nodeImage"]]).toEqual([1, newImage]);
    expect(world.image()).toBe(oldImage);
    world.state.backend = "file:///srv/state";
    expect((await type(again)).status).toBe(0);
  });

  it("restarts the node if Pulumi is no longer installed", async () => {
    world.during("copy", () => stopController.abort());
    expect((await type()).printed).toContain("not finished: it was stopped by a signal.");
    stopController = new AbortController();
    world.state.isPulumiInstalled = false;
    const { printed } = await type(again);
    expect(printed).toContain("RollbackFailed");
    expect([world.areRunning(), world.image()]).toEqual([true, oldImage]);
    world.state.isPulumiInstalled = true;
    expect((await type(again)).printed).toContain("Rolled back: prod runs 0.16.2");
  });

  it("does not start while a different upgrade is running, wherever that was started", async () => {
    await mkdir(join(directory, "state"));
    using lock = createProcessLock(join(directory, "state", `stack-upgrade-${prefix}.lock`), prefix);
    expect(lock.acquire()).toEqual({ ok: true });
    const { status, printed } = await type();
    expect([status, printed]).toEqual([1, "upgrade: another gatehouse upgrade of gatehouse-prod is running\n"]);
    expect(world.state.begun).toEqual([]);
  });

  it("does not start while the copy of a different upgrade exists, and explains how to remove it", async () => {
    world.state.copy = world.state.live;
    const { status, printed } = await type();
    expect(printed).toContain("problem: gatehouse-prod-node-workspace contains the copy of an unfinished upgrade");
    expect(printed).toContain("/app/cli/stack-upgrade/workspace-copy.main.ts discard /volume 2027-01-05");
    expect([status, world.image()]).toEqual([1, oldImage]);
  });

  it("leaves a running job alone in a dry run", async () => {
    const task = world.time.begin([{ afterMs: 1_000_000, effect: () => {} }]);
    world.state.jobs.set(`${prefix}-node-upgrade`, { owner: "another", task });
    expect((await type({ dryRun: true })).status).toBe(0);
    expect(task.isDone()).toBe(false);
  });

  it("does nothing if the plan has changed since the user was asked", async () => {
    const confirm = async () => {
      world.state.config["gatehouse:nodeImage"] = "node:0.16.1";
      return true;
    };
    const { status, printed } = await type({ yes: false, confirm });
    expect(printed).toContain(
      "the stack changed while you confirmed the plan; nothing was done. Run the command again",
    );
    expect([status, world.image()]).toEqual([1, oldImage]);
    expect(world.state.begun.filter((name) => name !== "look")).toEqual([]);
  });

  it("starts if the node missed one response, but not if it remains unresponsive", async () => {
    world.state.quietMs = 12_000;
    expect((await type({ dryRun: true })).status).toBe(0);
    world.state.quietMs = 1_000_000;
    const { status, printed } = await type({ dryRun: true });
    expect(printed).toContain("problem: the node does not respond");
    expect(status).toBe(1);
  });

  it("does nothing without confirmation, and explains how to confirm without a terminal", async () => {
    const rejectedRun = await type({ yes: false });
    expect(rejectedRun.printed).toContain("upgrade: nothing was changed. Without a terminal, pass --yes.\n");
    expect((await type({ yes: false, confirm: async () => false })).status).toBe(1);
    expect([rejectedRun.status, world.state.begun.filter((name) => name !== "look")]).toEqual([1, []]);
  });

  it("upgrades once the user confirms", async () => {
    expect((await type({ yes: false, confirm: async () => true })).status).toBe(0);
  });

  it("warns if no source reports the version", async () => {
    world = createStackWorld("reports no version");
    const { status, printed } = await type();
    expect(printed).toContain("warning: the node does not report its version");
    expect(printed).toContain("by the id of its image alone: 0.16.2 reported no version.");
    expect(status).toBe(0);
  });
});
