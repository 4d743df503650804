import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { createFakeNode, driftedConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { seed } from "../support/run-size.ts";
import { startUpkeepProcess } from "../support/upkeep-process.ts";

/** Strides over the steps of a correction and of a restart, which has more and slower steps: 1 means every step, 3 every third one. */
const givenStride = process.env["GATEHOUSE_TEST_KILL_STRIDE"];
const correctionStride = givenStride === undefined ? 24 : 1;
const restartStride = Number(givenStride ?? 120);

/** First step of a run, chosen by the seed, so that over time each step is tried. */
const firstStep = (stride: number) => 1 + (seed % stride);

/** Corrects a drifted text without the sidecar. */
function correct(text: string): string {
  return text.replace("enable_pamir_cetina", "storage_enable_cetina").replaceAll("pamir_cetina_", "storage_cetina_");
}

/** More steps than a correction or a restart has. A test that reaches this step fails, because it never finished without a kill. */
const stepsMax = 400;

/**
 * Makes node.conf drift repeatedly, each time with the sidecar killed one step later, until it finishes without a kill.
 * `check` inspects the state after the kill, and after the next sidecar.
 */
async function killedAtEachStep(
  node: FakeNode,
  {
    driver,
    stride,
    drift,
  }: Readonly<{
    driver: "none" | "ops";
    stride: number;
    /** Formats the drifted text for a step. */ drift: (killAt: number) => string;
  }>,
  check: Readonly<{ afterKill: (text: string) => void; afterAll: () => Promise<void> }>,
): Promise<number> {
  for (let killAt = firstStep(stride); killAt < stepsMax; killAt += stride) {
    const upkeep = startUpkeepProcess(node, driver);
    await upkeep.right();
    await check.afterAll();
    expect((await readdir(node.binDirectory)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    const responseBefore = await upkeep.ask({ killAt });
    await node.save(drift(killAt));
    const outcome = await until("the correction is over, or killed", generousMs, async () => {
      if (upkeep.hasEnded()) return "killed";
      const now = await upkeep.ask();
      const isCorrected =
        now !== undefined && responseBefore !== undefined && now.corrections > responseBefore.corrections;
      return isCorrected && now.isRight && (driver === "none" || now.restarts > responseBefore.restarts) && "whole";
    });
    if (outcome === "killed") check.afterKill(await node.config());
    await upkeep.kill();
    if (outcome === "whole") return killAt - 1;
  }
  throw new Error(`still killed at step ${stepsMax}`);
}

test(`killed before one step in ${correctionStride} of a correction, from step ${firstStep(correctionStride)}: leaves the old or new node.conf, and corrects it at the next start`, async () => {
  await using node = await createFakeNode();
  let desired = "";
  const steps = await killedAtEachStep(
    node,
    { driver: "none", stride: correctionStride, drift: () => driftedConfig },
    {
      afterKill: (text) => expect([driftedConfig, desired]).toContain(text),
      afterAll: async () => {
        desired ||= await node.config();
        expect(await node.config()).toBe(desired);
        expect(desired).toContain('"storage_cetina_job_name": "node-7"');
      },
    },
  );
  expect(steps).toBeGreaterThan(10);
}, 600_000);

test(`killed before one step in ${restartStride} of a correction and its restart, from step ${firstStep(restartStride)}: the node ends up running the right configuration, not paused`, async () => {
  await using node = await createFakeNode();
  await node.start();
  // Each drift includes an edit that requires a restart. Drift alone requires none, because the node has already read the corrected file.
  let edit = 0;
  const drifted = () => driftedConfig.replace('"../data"', `"../data", "edit": ${edit}`);
  const desired = () => correct(drifted());
  const steps = await killedAtEachStep(
    node,
    {
      driver: "ops",
      stride: restartStride,
      drift: () => {
        edit += 1;
        return drifted();
      },
    },
    {
      afterKill: (text) => expect([drifted(), desired()]).toContain(text),
      afterAll: async () => {
        if (edit === 0) return;
        expect(await node.config()).toBe(desired());
        expect(await node.running()).toBe(desired());
      },
    },
  );
  expect(steps).toBeGreaterThan(20);
}, 3_600_000);
