import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildFreePortConfig, createFakeNode } from "#sidecar/testing/fake-node.ts";
import { seed } from "../support/run-size.ts";
import { createRandom } from "../support/seeded-random.ts";
import { startUpgradeProcess } from "../support/upgrade-process.ts";
import {
  checkRestored,
  makeSnapshot,
  endWithRuinedData,
  waitUntilEnded,
  waitUntilWell,
} from "./killed-while-data-are-corrupt/restored-once.ts";

/** About the first step of the restore is in the middle between them. */
const [firstStep, lastStep] = [100, 280];

/** One kill; `killed-while-data-are-corrupt.long.test.ts` has many, and one before each step. */
test(`a sidecar is killed at a random step while data are corrupt (seed ${seed}): they are restored once in the end, and the old ones are kept`, async () => {
  // Neighbouring seeds would begin alike.
  const next = createRandom(Math.imul(seed, 2_654_435_761));
  const killAt = firstStep + Math.floor(next() * (lastStep - firstStep));
  await using node = await createFakeNode(await buildFreePortConfig());
  const { chain, snapshot } = await makeSnapshot(node);
  const killed = startUpgradeProcess(node, { autoRestore: snapshot });
  await waitUntilWell(killed);
  await endWithRuinedData(node, chain);
  // Its own `ops` knows that it does not run: where a stop works, it is waited for whether somebody else has started it.
  await rm(join(node.workspace, "node.pid"), { force: true });
  await killed.ask({ killAt });
  expect(await waitUntilEnded(killed)).toBeUndefined();
  const last = startUpgradeProcess(node, { autoRestore: snapshot });
  await checkRestored(node, await waitUntilEnded(last));
  await last.kill();
});
