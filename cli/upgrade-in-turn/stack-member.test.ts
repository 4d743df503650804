import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createStackWorld, type StackWorld } from "../stack-upgrade/testing/stack-world.ts";
import { newImage, oldImage, type NewVersion } from "../stack-upgrade/testing/world-state.ts";
import { createStackMember } from "./stack-member.ts";
import { upgradeInTurn, type TurnOptions } from "./upgrade-in-turn.ts";

const names = ["a", "b", "c"] as const;
type Name = (typeof names)[number];

let directory: string;
let worlds: Readonly<Record<Name, StackWorld>>;
let stopping: AbortController;
/** State directory; another one after a kill, because a run that is killed in this process keeps its lock. */
let state: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-stacks-"));
  for (const name of names) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, "Pulumi.prod.yaml"), "");
  }
  worlds = createWorlds({});
  stopping = new AbortController();
  state = "state";
});

afterEach(() => rm(directory, { recursive: true, force: true }));

/** Creates a world for each stack; `b` has the given new version. */
function createWorlds({ b = "good" }: Readonly<{ b?: NewVersion }>) {
  return { a: createStackWorld("good"), b: createStackWorld(b), c: createStackWorld("good") };
}

/** Types the command for all three; what it printed, and its exit status. */
async function type(more: Partial<TurnOptions> = {}) {
  const printed: string[] = [];
  const output = { out: (text: string) => printed.push(text), error: (text: string) => printed.push(text) };
  const { signal } = stopping;
  const members = names.map((name) => {
    const { platform: _, pulumi, queries, ...rest } = worlds[name].steps(signal);
    const { engine, createPlatform } = worlds[name];
    const options = {
      // The worlds' containers are those of a stack `prod`.
      stack: `${name}/gatehouse/prod`,
      requested: { image: newImage, version: undefined },
      directory: join(directory, name),
      configFile: undefined,
      statusUrl: undefined,
      stateDirectory: join(directory, name, state),
      limits: {},
    };
    // All are on one engine, which has the new image once one of them runs it.
    const isPulled = () => names.some((one) => worlds[one].image() === newImage);
    const findImage = async (image: string) => (image !== newImage || isPulled() ? engine.findImage(image) : undefined);
    const doubles = {
      platform: () => createPlatform(undefined, { ...engine, findImage }),
      pulumi: () => pulumi,
      queries: () => queries,
    };
    return createStackMember(options, { ...rest, ...doubles, output: { ...output, isColored: false } });
  });
  const commands = { again: "gatehouse again", only: (stacks: readonly string[]) => `gatehouse ${stacks.join(" ")}` };
  const options = { members, commands, dryRun: false, yes: true, confirm: undefined, ...more };
  const dependencies = { output: { ...output, isColored: false }, signal, wellWithinMs: 0 };
  const status = await upgradeInTurn(options, dependencies);
  return { status, printed: printed.join("").replaceAll("/gatehouse/prod", "") };
}

const images = () => names.map((name) => worlds[name].image());
const begun = () => names.filter((name) => worlds[name].state.begun.some((what) => what !== "look"));

describe("gatehouse upgrade of several stacks", () => {
  it("takes one after the other to the new image, and has nothing to do then", async () => {
    const { status, printed } = await type();
    expect([status, images()]).toEqual([0, [newImage, newImage, newImage]]);
    expect(printed).toMatch(/^a: Now proving the new version\.$/m);
    // Their plans are still the confirmed ones if this warning is gone when their turn comes.
    expect(printed.match(/warning: the engine does not have node:0\.17\.0 yet/g)).toHaveLength(3);
    expect(printed).toContain("  c: proved: c runs 0.17.0 (node:0.17.0), as it says itself.");
    const before = names.map((name) => worlds[name].state.begun.filter((what) => what !== "look").length);
    const again = await type();
    expect(again.printed).toContain("a: left out: it has 0.17.0 (node:0.17.0) already.");
    expect(again.status).toBe(0);
    expect(names.map((name) => worlds[name].state.begun.filter((what) => what !== "look").length)).toEqual(before);
  });

  it("shows all and begins none with --dry-run", async () => {
    const { status, printed } = await type({ dryRun: true });
    expect(printed.match(/^[abc]: from 0\.16\.2 \(node:0\.16\.2\) to 0\.17\.0/gm)).toHaveLength(3);
    expect([status, begun()]).toEqual([0, []]);
  });

  it("begins none where one is refused, or can't be read", async () => {
    worlds.b.state.copy = worlds.b.state.live;
    expect(await type()).toMatchObject({ status: 1, printed: expect.stringContaining("b can't be upgraded now") });
    worlds.b.state.copy = undefined;
    await rm(join(directory, "c", "Pulumi.prod.yaml"));
    const { status, printed } = await type();
    expect(printed).toMatch(/^c:\n {2}problem: .+Pulumi\.prod\.yaml can't be read/m);
    expect([status, begun()]).toEqual([1, []]);
  });

  it("begins none where the configuration of one names the new image, and its node does not run it", async () => {
    worlds.b.state.config["gatehouse:nodeImage"] = newImage;
    const { status, printed } = await type();
    expect(printed).toContain("it has 0.17.0 (node:0.17.0) already, and is not well: gatehouse-prod-node does not run");
    expect([status, begun()]).toEqual([1, []]);
  });

  it.each<NewVersion>(["loses a block", "does not start"])(
    "stops at one that %s and leaves the next one alone",
    async (b) => {
      worlds = createWorlds({ b });
      const { status, printed } = await type();
      expect([status, images()]).toEqual([1, [newImage, oldImage, oldImage]]);
      expect(printed).toMatch(/^ {2}b: rolled back: b runs 0\.16\.2 \(node:0\.16\.2\) with the old data/m);
      expect(printed).toContain("  c: not begun\n");
      expect(printed).toContain("Or go on without b: gatehouse c\n");
      expect(begun()).toEqual(["a", "b"]);
    },
  );

  it("does not begin the next one while one that was upgraded is not well any more", async () => {
    // Its turn has come, and the first is stopped by somebody.
    worlds.b.during("copy", () => worlds.a.stopNode());
    const { status, printed } = await type();
    expect(printed).toContain("stopped: a is not well: the node does not answer");
    expect([status, begun()]).toEqual([1, ["a", "b"]]);
  });

  it("is ended by a signal between two steps, and goes on with that stack by the same command, whatever is wrong elsewhere", async () => {
    worlds.b.during("copy", () => stopping.abort());
    const ended = await type();
    expect(ended.printed).toContain("  b: its end is not known: it has not ended: it was ended by a signal.\n");
    expect(ended.printed).toContain("  c: not begun\n");
    expect([ended.status, worlds.b.areRunning()]).toEqual([1, false]);
    stopping = new AbortController();
    const shown = await type({ dryRun: true });
    expect(shown.printed).toMatch(/^b: in progress; will be resumed first: the upgrade of b from 0\.16\.2/m);
    worlds.c.stopNode();
    const refused = await type();
    expect(refused.printed).toContain("c can't be upgraded now");
    expect([refused.status, images()]).toEqual([1, [newImage, newImage, oldImage]]);
    worlds.c.startNode();
    expect((await type()).status).toBe(0);
    expect(images()).toEqual([newImage, newImage, newImage]);
  });

  it("is killed in the middle of one, and goes on with it by the same command before it begins the next", async () => {
    const { promise: killed, resolve } = Promise.withResolvers<"killed">();
    worlds.b.during("copy", () => void worlds.b.kills.killAt(1, true).then(resolve));
    expect(await Promise.race([killed, type()])).toBe("killed");
    state = "state of the next run";
    worlds.b.kills.spare();
    worlds.b.bury();
    expect(begun()).toEqual(["a", "b"]);
    const { status, printed } = await type();
    expect(printed).toContain("b: Goes on: the upgrade of b from 0.16.2 to node:0.17.0");
    expect([status, images()]).toEqual([0, [newImage, newImage, newImage]]);
  });

  it("does not do what one of them has become since all were agreed to", async () => {
    worlds.a.during("copy", () => (worlds.b.state.config["gatehouse:nodeImage"] = "node:0.16.1"));
    const { status, printed } = await type();
    expect(printed).toMatch(/^b: from 0\.16\.1 /m);
    expect(printed).toContain(
      "  b: refused, nothing was changed: the plan changed while you confirmed it (shown above)",
    );
    expect([status, begun()]).toEqual([1, ["a"]]);
  });
});
