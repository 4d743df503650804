import { randomBytes } from "node:crypto";
import { access, chmod, copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { nodeReleases } from "#node/versions.ts";
import { formatLauncher, type LauncherName } from "./launcher.ts";
import { formatNodeConf, type MonitorTarget, type NodePorts } from "./node-conf-template.ts";
import { releaseFile, writeParameters, type NodeParameters } from "./node-parameters.ts";
import { locateWorkspace, type Workspace } from "./workspace.ts";

export type PrepareWorkspaceOptions = Readonly<{
  /** Made when absent. */
  directory: string;
  parameters: NodeParameters;
  /** Used for a new `node.conf` only; an existing one stays as it is. */
  conf: Readonly<{ hostIp: string; ports: NodePorts; monitor?: MonitorTarget | undefined }>;
}>;

/**
 * Makes a node's workspace in the layout of its version: `node_cli`, `ops` and `node.conf` in the bin directory, keys, data
 * directory. What an operator owns (`node.conf`, keys, data) is written only where it is absent; the programs and the
 * parameters are always those of this call, so calling again with another version is an upgrade. When that changes the layout,
 * the other layout's `node.conf` is taken over.
 */
export async function prepareWorkspace(options: PrepareWorkspaceOptions): Promise<Workspace> {
  const { parameters, conf } = options;
  const directory = resolve(options.directory);
  const workspace = locateWorkspace({ ...parameters, directory });
  for (const path of [workspace.binDirectory, join(workspace.dataDirectory, "meta")]) {
    await mkdir(path, { recursive: true });
  }
  for (const path of [workspace.keyDirectory, workspace.runDirectory]) {
    await mkdir(path, { recursive: true, mode: 0o700 });
  }
  for (const name of ["domain.key", "stabilizing.key"]) {
    await writeNew(join(workspace.keyDirectory, name), `${randomBytes(32).toString("hex")}\n`, 0o600);
  }
  await takeOverConf(workspace, parameters);
  await writeNew(workspace.configPath, formatNodeConf({ ...conf, version: parameters.version, workspace }), 0o644);
  await writeParameters(workspace.parametersPath, parameters);
  // The version of this call counts, not that of programs which were put there since the last call.
  await rm(join(workspace.binDirectory, releaseFile), { force: true });
  await writeLauncher(workspace, "node_cli", parameters);
  await writeLauncher(workspace, "ops", parameters);
  return workspace;
}

async function writeLauncher(
  workspace: Workspace,
  name: LauncherName,
  { version, profile }: NodeParameters,
): Promise<void> {
  const path = join(workspace.binDirectory, name);
  // A real node's programs stay as they were installed: no start writes them.
  if (profile === "strict" && (await isPresent(path))) return;
  await replaceFile(path, formatLauncher(name, version), { mode: 0o755 });
  await chmod(path, 0o755);
}

async function takeOverConf(workspace: Workspace, { nodeDirectory }: NodeParameters): Promise<void> {
  if (await isPresent(workspace.configPath)) return;
  const place = { directory: workspace.directory, nodeDirectory };
  for (const { since } of nodeReleases.toReversed()) {
    const { configPath } = locateWorkspace({ ...place, version: since });
    if (await isPresent(configPath)) return copyFile(configPath, workspace.configPath);
  }
}

async function writeNew(path: string, content: string, mode: number): Promise<void> {
  try {
    await writeFile(path, content, { flag: "wx", mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

async function isPresent(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
