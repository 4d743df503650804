import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { until } from "#sidecar/testing/until.ts";
import { startDevnetWorkspace, type DevnetWorkspace } from "../../support/node/devnet-workspace.ts";

export const version = "0.16.2";
export const patient = {
  GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
  // A node that does not start is waited for as long.
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "4000",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
};

/** A devnet node whose node.conf is as desired, as a sidecar with state in `state` left it. */
export async function startDesiredNode(environment: Readonly<Record<string, string>> = {}) {
  const node = await startDevnetWorkspace(version);
  const stateDirectory = join(node.workspace, "state");
  await using upkeep = await runUpkeep(node, { ...patient, ...environment }, { stateDirectory });
  await waitForRestarts(upkeep, 1);
  await upkeep.reason("RestartSettled", "Idle", 20_000);
  await upkeep.reason("ConfigCurrent", "AsDesired");
  return { node, stateDirectory, good: await readFile(node.configPath, "utf8") };
}

/** Waits until so many restarts were proved. */
export async function waitForRestarts(upkeep: RunningUpkeep, count: number): Promise<void> {
  await until(
    () => upkeep.events.list().filter(({ message }) => message.startsWith("The node is back and advances after")),
    ({ length }) => length >= count,
    50_000,
  );
}

/** Puts a program before the node's own `ops`, which it finds as `./ops-itself`. */
export async function replaceOps(node: DevnetWorkspace, script: string): Promise<void> {
  const path = join(dirname(node.configPath), "ops");
  await rename(path, `${path}-itself`);
  await writeFile(path, `#!/bin/sh\n${script}\nexec ./ops-itself "$@"\n`, { mode: 0o755 });
}

/** A configuration that means something else to the node, which starts with it all the same. */
export const another = (text: string) => text.replace('"mygrid_conf": {', '"mygrid_conf": { "changed": 1,');

export const half = (text: string) => text.slice(0, Math.floor(text.length / 2));

/** A configuration that lint has nothing against, and that the node does not start with. */
export const bad = (text: string) => text.replace('"mygrid_conf": {', '"mygrid_conf": "a text", "was": {');
