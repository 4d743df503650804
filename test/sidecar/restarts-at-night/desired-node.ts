import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
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
  // A node that does not start is waited for as long: a fake one answers as soon as its start command ends, if at all.
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: isLong ? "4000" : "1500",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
};

/** Checks that a devnet node makes at its start and a fake node lacks: a node.conf that can be read, storage settings of the right kind, its key. */
const demands = `
const { existsSync: isThere, readFileSync: readText } = require("node:fs");
try {
  const given = process.argv[process.argv.indexOf("-c") + 1];
  const { chain, storage } = JSON.parse(readText(process.argv.includes("-c") ? given : "node.conf", "utf8"));
  if (typeof storage.mygrid_conf !== "object" || !isThere(chain.secret_config.domain_key_path)) process.exit(3);
} catch {
  process.exit(3);
}
`;

/** Starts a fake node that demands as much of its node.conf as a devnet node, and that a sidecar has to correct first. */
async function startDemandingNode(): Promise<FakeNode> {
  const node = await createFakeNode();
  const { chain, storage } = JSON.parse(writeOwnedConfig(node.workspace, "node-7")) as Record<string, object>;
  const config = JSON.stringify({ chain, storage: { ...storage, mygrid_conf: { size: 1 } } }, null, 2);
  await node.save(config.replace("storage_cetina_job_name", "pamir_cetina_job_name"));
  await mkdir(join(node.workspace, "keys"), { recursive: true });
  for (const name of ["domain", "stabilizing"]) await writeFile(join(node.workspace, "keys", `${name}.key`), "a key");
  const program = node.programs.node;
  const [shebang = "", ...lines] = (await readFile(program, "utf8")).split("\n");
  await writeFile(program, [shebang, demands, ...lines].join("\n"));
  await node.start();
  return node;
}

/** Starts a devnet node whose node.conf matches the desired configuration, as a sidecar with state in `state` left it. */
export async function startDesiredDevnet(environment: Readonly<Record<string, string>> = {}) {
  return runCorrection(await startDevnetWorkspace(version), environment);
}

/** Starts the same with a devnet node in `npm run test:long`, else with a fake one. */
export async function startDesiredNode() {
  return isLong ? startDesiredDevnet() : runCorrection(await startDemandingNode());
}

async function runCorrection<Node extends Pick<FakeNode, "workspace" | "configPath" | "httpUrl">>(
  node: Node,
  environment: Readonly<Record<string, string>> = {},
) {
  const stateDirectory = join(node.workspace, "state");
  await using upkeep = await runUpkeep(node, { ...patient, ...environment }, { stateDirectory });
  await waitForRestarts(upkeep, 1);
  await upkeep.reason("NoRestartPending", "NoRestart", 20_000);
  await upkeep.reason("ConfigReconciled", "Reconciled");
  return { node, stateDirectory, good: await readFile(node.configPath, "utf8") };
}

/** Waits until so many restarts were proved. */
export async function waitForRestarts(upkeep: RunningUpkeep, count: number): Promise<void> {
  await readUntil(
    () => upkeep.events.list().map(({ message }) => message),
    (messages) => messages.filter((each) => each.startsWith("The node recovered and advances after")).length >= count,
    50_000,
  );
}

/**
 * Puts a program before the node's own `ops`, which it finds as `./ops-itself`; returns the settings of a sidecar that stops the node by it. `ops stop` of the public
 * family is not run while another test's node runs on this machine, a program of another name is.
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

/** A configuration that means something else to the node, which starts with it all the same. */
export const another = (text: string) => text.replace('"mygrid_conf": {', '"mygrid_conf": { "changed": 1,');

export const half = (text: string) => text.slice(0, Math.floor(text.length / 2));

/** A configuration that lint has nothing against, and that the node does not start with. */
export const bad = (text: string) => text.replace('"mygrid_conf": {', '"mygrid_conf": "a text", "was": {');
