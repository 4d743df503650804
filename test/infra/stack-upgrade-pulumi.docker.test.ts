import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "#daemon/testing/until.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createUniqueName } from "../support/engine/container.ts";
import { findEngine } from "../support/engine/find-engine.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { chainImage, deployChainStack, startUpgrade, type ChainStack } from "./chain-stack.ts";
import { waitUntilStackSettles } from "./settled-stack.ts";

const engine = await findEngine();
const pulumi = await findPulumi("docker");
const lacking = [engine, pulumi].flatMap((found) => (found.ok ? [] : [found.message]));
const skipped = lacking.length === 0 ? "" : ` (skipped: ${lacking.join("; ")})`;
const root = join(import.meta.dirname, "../..");
const name = createUniqueName("up").replace("gatehouse-test-", "");

let deployedChainStack: ChainStack;
let state: string;

/** Runs the command like an operator. */
const type = (...options: readonly string[]) =>
  startUpgrade(["--stack", name, "--config-file", deployedChainStack.stack.configFile, ...options], {
    env: deployedChainStack.stack.env,
    state,
  });

/** Runs the command like an operator; returns its output and exit status. */
const upgrade = (...options: readonly string[]) => type(...options).end();

describe.skipIf(lacking.length > 0)(`a stack upgrade by Pulumi${skipped}`, { timeout: 900_000 }, () => {
  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), "gatehouse-state-"));
    deployedChainStack = await deployChainStack(name, { engine });
  }, 1_200_000);

  afterAll(async () => {
    await deployedChainStack?.[Symbol.asyncDispose]();
    await rm(state, { recursive: true, force: true });
  });

  beforeEach(() => waitUntilStackSettles(deployedChainStack.statusPort), 150_000);

  test("upgrades to a good version, verifies it, and leaves no changes for Pulumi", async () => {
    const dataBefore = await deployedChainStack.readData("chain");
    const image = await chainImage(engine, "0.17.0");
    const done = await upgrade("--node-image", image, "--node-version", "0.17.0", "--yes");
    expect(done.printed).toContain(`Verified: ${name} runs 0.17.0`);
    expect(done.status).toBe(0);
    expect((await deployedChainStack.readData("chain")).slice(0, dataBefore.length)).toEqual(dataBefore);
    expect(await deployedChainStack.readData("starts")).toEqual(["0.16.2", "0.17.0"]);
    expect(await deployedChainStack.readConfig()).toMatchObject({
      "gatehouse:nodeImage": image,
      "gatehouse:nodeVersion": "0.17.0",
    });
    expect((await readdir(root)).filter((file) => file === `.gatehouse-upgrade.${name}.json`)).toEqual([]);
    await deployedChainStack.runPulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
  });

  test("rolls back after its pulumi up was killed, once an operator removes the lock", async () => {
    const dataBefore = await deployedChainStack.readData("chain");
    const image = await chainImage(engine, "0.17.3");
    const running = type("--node-image", image, "--node-version", "0.17.3", "--yes");
    await deployedChainStack.killUpdate(running);
    await until("it waits for the lock", 300_000, async () =>
      running.printed().includes("Another update of the stack"),
    );
    await deployedChainStack.runPulumi("cancel", "--yes");
    const done = await running.end();
    expect(done.printed).toMatch(/pulumi up --yes ended with SIGKILL/);
    expect(done.printed).toContain(`Rolled back: ${name} runs 0.17.0`);
    expect(done.status).toBe(1);
    expect((await deployedChainStack.readData("chain")).slice(0, dataBefore.length)).toEqual(dataBefore);
    expect(await deployedChainStack.readConfig()).toMatchObject({
      "gatehouse:nodeImage": await chainImage(engine, "0.17.0"),
    });
    await deployedChainStack.runPulumi("up", "--yes", "--skip-preview", "--expect-no-changes");
  });
});
