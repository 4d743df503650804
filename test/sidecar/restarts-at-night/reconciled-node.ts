import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startDevnetWorkspace } from "../../support/node/devnet-workspace.ts";
import { writeOwnedConfig } from "../../support/node/owned-node.ts";
import { isLong } from "../../support/run-size.ts";

export const version = "0.16.2";
export const patient = {
  GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
  // Also the max wait for a node that does not start: a fake node responds as soon as its start command exits, or never.
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: isLong ? "4000" : "1500",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
};

/** Startup checks that a devnet node makes but a fake node doesn't: a readable node.conf, a directory for its metadata, its key. */
const demands = `
const { existsSync: entryExists, mkdirSync: makeDirectory, readFileSync: readText } = require("node:fs");
try {
  const given = process.argv[process.argv.indexOf("-c") + 1];
  const { chain } = JSON.parse(readText(process.argv.includes("-c") ? given : "node.conf", "utf8"));
  makeDirectory(chain.startup_config.init_config.meta_path, { recursive: true });
  if (!entryExists(chain.secret_config.domain_key_path)) process.exit(3);
} catch {
  process.exit(3);
}
`;

/** Starts a fake node that checks its node.conf as strictly as a devnet node. */
async function startDemandingNode({ isDrifted }: Readonly<{ isDrifted: boolean }>): Promise<FakeNode> {
  const node = await createFakeNode();
  const { chain, storage } = JSON.parse(writeOwnedConfig(node.workspace, "node-7")) as Record<string, object>;
  const config = JSON.stringify({ chain, storage: { ...storage, mygrid_conf: { size: 1 } } }, null, 2);
  await node.save(isDrifted ? config.replace("storage_cetina_job_name", "pamir_cetina_job_name") : config);
  await mkdir(join(node.workspace, "keys"), { recursive: true });
  for (const name of ["domain", "stabilizing"]) await writeFile(join(node.workspace, "keys", `${name}.key`), "a key");
  const program = node.programs.node;
  const [shebang = "", ...lines] = (await readFile(program, "utf8")).split("\n");
  await writeFile(program, [shebang, demands, ...lines].join("\n"));
  await node.start();
  return node;
}

/**
 * Starts a devnet node whose node.conf is already reconciled, by a sidecar with its state in `state`.
 */
export async function startReconciledDevnet(environment: Readonly<Record<string, string>> = {}) {
  return runCorrection(await startDevnetWorkspace(version), environment);
}

/** Starts a devnet node in `npm run test:long`, otherwise a fake one. */
export async function startReconciledNode() {
  return isLong ? startReconciledDevnet() : runCorrection(await startDemandingNode({ isDrifted: true }));
}

/** Starts the same node without a sidecar's state, as before adoption. */
export async function startUnknownNode() {
  if (isLong) {
    const started = await startReconciledDevnet();
    await forgetState(started.node);
    return started;
  }
  const node = await startDemandingNode({ isDrifted: false });
  return { node, good: await node.config() };
}

async function runCorrection<Node extends Pick<FakeNode, "workspace" | "configPath" | "httpUrl">>(
  node: Node,
  environment: Readonly<Record<string, string>> = {},
) {
  await using upkeep = await runUpkeep(node, { ...patient, ...environment });
  await waitForRestarts(upkeep, 1);
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  return { node, good: await readFile(node.configPath, "utf8") };
}

/** Removes the sidecar's state, so that the node is as before its adoption. */
export function forgetState({ workspace }: Pick<FakeNode, "workspace">): Promise<void> {
  return rm(join(workspace, "state"), { recursive: true });
}

/** Waits until this many restarts have been verified. */
export async function waitForRestarts(upkeep: RunningUpkeep, count: number): Promise<void> {
  await readUntil(
    upkeep.messages,
    (messages) => messages.filter((each) => each.startsWith("The node recovered and advances after")).length >= count,
    50_000,
  );
}

/**
 * Puts a program in front of the node's own `ops`, which is renamed to `./ops-itself`; returns the settings of a sidecar
 * that stops the node with it. The public family's `ops stop` is not run while another test's node runs on this
 * machine; a program with another name is.
 */
export async function replaceOps(
  node: Pick<FakeNode, "configPath">,
  script: string,
): Promise<Readonly<Record<string, string>>> {
  const path = join(dirname(node.configPath), "ops");
  await rename(path, `${path}-itself`);
  await writeFile(path, `#!/bin/sh\n${script}\nexec ./ops-itself "$@"\n`, { mode: 0o755 });
  if (testProfile !== "pharos") return {};
  await symlink("ops", `${path}-alone`);
  return { GATEHOUSE_SIDECAR_OPS_STOP: JSON.stringify(["./ops-alone", "stop", "--force"]) };
}

/** A changed configuration with which the node still starts. */
export const another = (text: string, value = 1) =>
  text.replace('"mygrid_conf": {', `"mygrid_conf": { "changed": ${value},`);

export const half = (text: string) => text.slice(0, Math.floor(text.length / 2));

/** A configuration that passes lint, but with which the node does not start. */
export const bad = (text: string) => text.replace(/"meta_path": *"[^"]*"/, '"meta_path": "/dev/null/a text"');
