import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { rm, stat, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { buildEnvironment } from "#sidecar/testing/sidecar-environment.ts";
import { buildOwnEnvironment } from "../support/own-environment.ts";
import { createFakeNode, driftedConfig } from "#sidecar/testing/fake-node.ts";
import { generousMs, readUntil, until } from "#daemon/testing/until.ts";
import { importConstants } from "../support/programs/import-constants.ts";
import { gatehouseProgram } from "../support/programs/place.ts";

/** A separate user namespace in which the kernel provides no inotify watches. */
const withoutWatches = [
  "--user",
  "--map-root-user",
  "sh",
  "-c",
  'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"',
  "sh",
];
const isPossible = spawnSync("unshare", [...withoutWatches, "true"]).status === 0;
const why = isPossible ? "" : " (skipped: this user may not create a namespace)";
const isRight = (config: string) => config.includes("storage_cetina_job_name") && !config.includes("pamir");

/**
 * Waits until a newly written file has a later timestamp, because polling can't detect a second write within one tick of the kernel's
 * clock.
 */
async function waitForTick(path: string): Promise<void> {
  const { mtimeMs } = await stat(path);
  await until("the kernel's clock ticks", generousMs, async () => {
    await writeFile(`${path}.tick`, "");
    return (await stat(`${path}.tick`)).mtimeMs > mtimeMs;
  });
  await rm(`${path}.tick`);
}

test.skipIf(!isPossible)(`polls node.conf if the system has no file watches left${why}`, async () => {
  await using node = await createFakeNode();
  const child = spawn("unshare", [...withoutWatches, process.execPath, gatehouseProgram, "sidecar"], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: buildOwnEnvironment({
      ...buildEnvironment(node),
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
      // This interval is longer than the test, so that only the watch can detect the change.
      NODE_OPTIONS: importConstants("sidecar", { "upkeep.rereadIntervalMs": 600_000 }),
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    }),
  });
  const printed = Promise.all([text(child.stdout!), text(child.stderr!)]);
  await once(child, "message");
  await readUntil(node.config, isRight);
  for (const job of ["node-8", "node-9"]) {
    await waitForTick(node.configPath);
    await writeFile(node.configPath, driftedConfig.replace("node-7", job));
    await readUntil(node.config, (config) => isRight(config) && config.includes(job));
  }
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  expect((await printed).join("")).toContain("can't watch node.conf; it is still reread periodically");
});
