import { mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockStack } from "./stack-lock.ts";
import { defaultLimits } from "./stack-record.ts";
import { type StackUpgradeOptions, runStackUpgradeCommand } from "./stack-upgrade-command.ts";
import { createStackWorld, type StackWorld } from "./testing/stack-world.ts";
import { buildTypedOptions } from "./testing/typed-options.ts";
import { newImage, oldImage, prefix } from "./testing/world-state.ts";

let directory: string;
let world: StackWorld;
/** The configuration that Pulumi was run with, run by run. */
let configFiles: string[];
let stopping: AbortController;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-program-"));
  await writeFile(join(directory, "Pulumi.prod.yaml"), "");
  await writeFile(join(directory, "other.yaml"), "");
  world = createStackWorld("good");
  configFiles = [];
  stopping = new AbortController();
});

afterEach(() => rm(directory, { recursive: true, force: true }));

/** Types the command; what it printed, and its exit status. */
async function type(more: Partial<StackUpgradeOptions> = {}) {
  const printed: string[] = [];
  const options = buildTypedOptions(directory, more);
  const { signal } = stopping;
  const { platform, pulumi, queries, ...rest } = world.steps(signal);
  const status = await runStackUpgradeCommand(options, {
    ...rest,
    platform: () => platform,
    currentContext: async () => "production",
    queries: () => queries,
    pulumi: ({ configFile }) => {
      configFiles.push(configFile);
      return pulumi;
    },
    output: { out: (text) => printed.push(text), error: (text) => printed.push(text), isColored: false },
  });
  return { status, printed: printed.join("") };
}

const dockerAt = (engine: string) => ({ kind: "docker", engine, statusUrl: "", rpcUrl: "" }) as const;

const again = { requested: undefined, isContinued: true } as const;
const readRecordFile = async () =>
  JSON.parse(await readFile(join(directory, ".gatehouse-upgrade.prod.json"), "utf8")) as Record<string, unknown>;

describe("gatehouse upgrade --stack", () => {
  it("takes the stack to the new image, and leaves no record", async () => {
    const { status, printed } = await type();
    expect(printed).toContain("Proved: prod runs 0.17.0 (node:0.17.0), as it says itself.");
    expect([status, world.image()]).toEqual([0, newImage]);
    expect((await readdir(directory)).filter((name) => name.startsWith(".gatehouse"))).toEqual([]);
  });

  it("goes on over the configuration that it was begun with, with the limits that are said now", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    const configFile = join(directory, "other.yaml");
    const begun = await type({ configFile });
    expect(begun.status).toBe(1);
    expect(begun.printed).toContain(
      `Go on: gatehouse upgrade --stack prod --continue --cwd ${directory} --config-file ${configFile}\n`,
    );
    expect(begun.printed).toContain(`pulumi -C ${directory} cancel --yes --stack prod`);
    await type({ ...again, limits: { copyMs: 7 } });
    expect(await readRecordFile()).toMatchObject({ configFile, limits: { ...defaultLimits, copyMs: 7 } });
    const other = await type({ ...again, configFile: join(directory, "Pulumi.prod.yaml") });
    expect(other.printed).toContain("leave --config-file out to go on");
    world.state.lockedBy = undefined;
    expect((await type(again)).status).toBe(0);
    expect(new Set(configFiles)).toEqual(new Set([configFile]));
  });

  it("goes on in a directory that was moved since, over the configuration that moved with it or is named", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    await type();
    const moved = `${directory}-moved`;
    await rename(directory, moved);
    directory = moved;
    const begun = await type(again);
    expect(begun.printed).toContain(`--continue --cwd ${moved} --config-file ${join(moved, "Pulumi.prod.yaml")}\n`);
    await rename(join(moved, "Pulumi.prod.yaml"), join(moved, "named.yaml"));
    expect((await type(again)).printed).toContain(
      `${join(moved, "Pulumi.prod.yaml")} is no readable file; name it by --config-file`,
    );
    world.state.lockedBy = undefined;
    expect((await type({ ...again, configFile: join(moved, "named.yaml") })).status).toBe(0);
    expect(configFiles.slice(1)).toEqual([join(moved, "Pulumi.prod.yaml"), join(moved, "named.yaml")]);
  });

  it("does not take another configuration's place for it that stood outside of a directory that was moved", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    const outside = await mkdtemp(join(tmpdir(), "gatehouse-config-"));
    const configFile = join(outside, "Pulumi.prod.yaml");
    await writeFile(configFile, "");
    await type({ configFile });
    await rm(outside, { recursive: true });
    expect((await type(again)).printed).toContain(`${configFile} is no readable file; name it by --config-file`);
  });

  it("finds what is under way however the stack is spelled", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    await type();
    world.state.lockedBy = undefined;
    const refused = await type({
      stack: "acme/gatehouse/prod",
      requested: { image: "node:0.18.0", version: undefined },
    });
    expect(refused.printed).toContain("go on with it: gatehouse upgrade --stack prod --continue");
    expect((await type({ ...again, stack: "acme/gatehouse/prod" })).status).toBe(0);
  });

  it("does not go on over another backend, which may have a stack of the same name", async () => {
    world.during("copy", () => (world.state.lockedBy = 1));
    await type();
    world.state.lockedBy = undefined;
    world.state.backend = "https://app.pulumi.example/alice";
    const refused = await type(again);
    expect(refused.printed).toContain(
      "begun over file:///srv/state, and Pulumi is logged in to https://app.pulumi.example: pulumi login file:///srv/state",
    );
    expect([refused.status, world.state.config["gatehouse:nodeImage"]]).toEqual([1, newImage]);
    expect(world.image()).toBe(oldImage);
    world.state.backend = "file:///srv/state";
    expect((await type(again)).status).toBe(0);
  });

  it("starts the node again where Pulumi is there no more", async () => {
    world.during("copy", () => stopping.abort());
    expect((await type()).printed).toContain("not ended: it was ended by a signal.");
    stopping = new AbortController();
    world.state.isPulumiThere = false;
    const { printed } = await type(again);
    expect(printed).toContain("RollbackFailed");
    expect([world.areRunning(), world.image()]).toEqual([true, oldImage]);
    world.state.isPulumiThere = true;
    expect((await type(again)).printed).toContain("Rolled back: prod runs 0.16.2");
  });

  it("does not begin while another one is at work, wherever that was begun", async () => {
    using _lock = lockStack(join(directory, "state"), { prefix, target: dockerAt("unix:///var/run/docker.sock") });
    const { status, printed } = await type();
    expect([status, printed]).toEqual([1, "upgrade: another gatehouse upgrade of gatehouse-prod is at work\n"]);
    expect(world.state.begun).toEqual([]);
  });

  it("does not begin where the copy of another one stands, and says how to remove it", async () => {
    world.state.copy = world.state.live;
    const { status, printed } = await type();
    expect(printed).toContain("problem: gatehouse-prod-node-workspace holds the copy of an upgrade that is not over");
    expect(printed).toContain("/app/cli/stack-upgrade/workspace-copy.main.ts discard /volume 2027-01-05");
    expect([status, world.image()]).toEqual([1, oldImage]);
  });

  it("leaves a job alone that is at work, when it only looks", async () => {
    const task = world.time.begin([{ afterMs: 1_000_000, effect: () => {} }]);
    world.state.jobs.set(`${prefix}-node-upgrade`, { owner: "another", task });
    expect((await type({ dryRun: true })).status).toBe(0);
    expect(task.isOver()).toBe(false);
  });

  it("does not do what it has become since a person was asked", async () => {
    const confirm = async () => {
      world.state.config["gatehouse:nodeImage"] = "node:0.16.1";
      return true;
    };
    const { status, printed } = await type({ yes: false, confirm });
    expect(printed).toContain("the plan changed while you confirmed it (shown above); nothing was done");
    expect([status, world.image()]).toEqual([1, oldImage]);
    expect(world.state.begun.filter((name) => name !== "look")).toEqual([]);
  });

  it("begins with a node that missed one answer, and not with one that stays silent", async () => {
    world.state.quietMs = 12_000;
    expect((await type({ dryRun: true })).status).toBe(0);
    world.state.quietMs = 1_000_000;
    const { status, printed } = await type({ dryRun: true });
    expect(printed).toContain("problem: the node does not answer");
    expect(status).toBe(1);
  });

  it("does nothing where nobody agrees, and says how to do so without a terminal", async () => {
    const refused = await type({ yes: false });
    expect(refused.printed).toContain("upgrade: nothing was changed. Without a terminal, say --yes.\n");
    expect((await type({ yes: false, confirm: async () => false })).status).toBe(1);
    expect([refused.status, world.state.begun.filter((name) => name !== "look")]).toEqual([1, []]);
  });

  it("does it once a person agrees", async () => {
    expect((await type({ yes: false, confirm: async () => true })).status).toBe(0);
  });

  it("warns where nothing reports the version", async () => {
    world = createStackWorld("reports no version");
    const { status, printed } = await type();
    expect(printed).toContain("warning: the node does not report its version");
    expect(printed).toContain("by the id of its image alone: it reports no version.");
    expect(status).toBe(0);
  });
});

describe("the right to work on a stack", () => {
  it("is one for all names of an engine's socket, and is there again once it is given up", async () => {
    const [socket, link] = [join(directory, "engine.sock"), join(directory, "link.sock")];
    await writeFile(socket, "");
    await symlink(socket, link);
    const lock = (path: string) => lockStack(join(directory, "state"), { prefix, target: dockerAt(`unix://${path}`) });
    const first = lock(socket);
    expect(first).toBeDefined();
    expect(lock(link)).toBeUndefined();
    first?.[Symbol.dispose]();
    using _second = lock(link);
    expect(_second).toBeDefined();
  });
});
