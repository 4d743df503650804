import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createUniqueName } from "../support/engine/container.ts";
import { findEngine } from "../support/engine/find-engine.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { until } from "#daemon/testing/until.ts";
import { chainImage, deployChainStack, startUpgrade, type ChainStack, type TypedUpgrade } from "./chain-stack.ts";
import { waitUntilStackSettles } from "./settled-stack.ts";

const engine = await findEngine();
const pulumi = await findPulumi("docker");
const lacking = [engine, pulumi].flatMap((found) => (found.ok ? [] : [found.message]));
const skipped = lacking.length === 0 ? "" : ` (skipped: ${lacking.join("; ")})`;
const prefix = createUniqueName("turn").replace("gatehouse-test-", "");

let state: string;
let [first, second]: ChainStack[] = [];

const both = (): readonly [ChainStack, ChainStack] => {
  if (first === undefined || second === undefined) throw new Error("the stacks are not deployed");
  return [first, second];
};

/** Types the command for both stacks. */
async function upgrade(version: string, ...options: readonly string[]): Promise<TypedUpgrade> {
  const stacks = both();
  const places = stacks.flatMap(({ name, stack }) => ["--stack", name, "--config-file", `${name}=${stack.configFile}`]);
  const words = [...places, "--node-image", await chainImage(engine, version), "--node-version", version, ...options];
  return startUpgrade(words, { env: stacks[0].stack.env, state });
}

const nodeIds = () => Promise.all(both().map(({ readNodeId }) => readNodeId()));

describe.skipIf(lacking.length > 0)(`an upgrade of two stacks in turn${skipped}`, { timeout: 1_200_000 }, () => {
  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), "gatehouse-state-"));
    first = await deployChainStack(`${prefix}-a`, { engine });
    second = await deployChainStack(`${prefix}-b`, { engine, sharedWith: first });
  }, 1_800_000);

  afterAll(async () => {
    await second?.[Symbol.asyncDispose]();
    await first?.[Symbol.asyncDispose]();
    await rm(state, { recursive: true, force: true });
  });

  beforeEach(async () => {
    await Promise.all(both().map(({ statusPort }) => waitUntilStackSettles(statusPort)));
  }, 150_000);

  test("shows the steps of both, and changes nothing", async () => {
    const before = await nodeIds();
    const { status, printed } = await (await upgrade("0.17.0", "--dry-run")).end();
    expect(status, printed).toBe(0);
    for (const { name, readRecord } of both()) {
      expect(printed).toContain(`${name}: from 0.16.2`);
      expect(readRecord()).toBeUndefined();
    }
    expect(await nodeIds()).toEqual(before);
  });

  test("stops at the first whose update fails, which is rolled back, and leaves the second alone", async () => {
    const [a, b] = both();
    const before = await b.readNodeId();
    const running = await upgrade("0.17.0", "--yes");
    await a.killUpdate(running);
    const { status, printed } = await running.end();
    expect(status, printed).toBe(1);
    expect(printed).toMatch(new RegExp(`^  ${a.name}: rolled back: ${a.name} runs 0\\.16\\.2`, "m"));
    expect(printed).toMatch(new RegExp(`^  ${b.name}: not begun$`, "m"));
    expect(printed).toContain(`Once ${a.name} is fixed, go on with the same command`);
    expect(await b.readNodeId()).toBe(before);
    expect(await a.readData("starts")).toEqual(["0.16.2", "0.16.2"]);
  });

  test("goes on by the same command after a kill, the interrupted one first, and proves both one after the other", async () => {
    const [a, b] = both();
    const before = await b.readNodeId();
    const killed = await upgrade("0.17.0", "--yes");
    await until(`the upgrade of ${a.name} proves`, 600_000, () => a.readRecord()?.stage === "proving");
    killed.kill();
    await killed.end();
    expect(await b.readNodeId()).toBe(before);
    const { status, printed } = await (await upgrade("0.17.0", "--yes")).end();
    expect(status, printed).toBe(0);
    const [proved, begun] = [`${a.name}: Proved.`, `${b.name}: Now `].map((words) => printed.indexOf(words));
    expect(proved).toBeGreaterThan(-1);
    expect(begun).toBeGreaterThan(proved ?? 0);
    for (const each of [a, b]) {
      expect(printed).toMatch(new RegExp(`^  ${each.name}: proved: ${each.name} runs 0\\.17\\.0`, "m"));
      expect((await each.readData("starts")).at(-1)).toBe("0.17.0");
      await each.runPulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
    }
  });

  test("leaves both out that have the version", async () => {
    const before = await nodeIds();
    const { status, printed } = await (await upgrade("0.17.0", "--yes")).end();
    expect(status, printed).toBe(0);
    for (const { name } of both()) expect(printed).toContain(`${name}: left out: it has 0.17.0`);
    expect(await nodeIds()).toEqual(before);
  });
});
