import { randomBytes } from "node:crypto";
import { chmod, copyFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { createDirectory } from "#daemon/files/create-directory.ts";
import { entryExists } from "#daemon/files/entry-exists.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { nodeReleases, findReleaseOfText, type MonitorKeys } from "#node/versions.ts";
import { deriveCommit, findFamilyOfProfile } from "../node-profile.ts";
import { locateProgramFile } from "../program-file.ts";
import type { MonitorSettings } from "../monitor/monitor-settings.ts";
import { releaseFile, writeParameters, type NodeParameters } from "./node-parameters.ts";
import { locateWorkspace, type Workspace } from "./workspace.ts";

export type PrepareWorkspaceOptions = Readonly<{
  /** Created when absent. */
  directory: string;
  parameters: NodeParameters;
  /** Used for a new `node.conf` only; an existing one stays unchanged. */
  conf: Readonly<{ hostIp: string; ports: NodePorts; monitor?: MonitorSettings | undefined }>;
}>;

/**
 * Creates a node's workspace in the layout of its version: `node_cli`, `ops` and `node.conf` in the bin directory, keys, data directory.
 * Creates the operator's files (`node.conf`, keys, data) only where absent; always rewrites the programs and the parameters, so a call with
 * another version is an upgrade. If the upgrade changes the layout, carries over the other layout's `node.conf`.
 */
export async function prepareWorkspace(options: PrepareWorkspaceOptions): Promise<Workspace> {
  const { parameters, conf } = options;
  const directory = resolve(options.directory);
  const workspace = locateWorkspace({ ...parameters, directory });
  for (const path of [workspace.binDirectory, join(workspace.dataDirectory, "meta")]) {
    createDirectory(path, 0o777);
  }
  for (const path of [workspace.keyDirectory, workspace.runDirectory]) {
    createDirectory(path);
  }
  for (const name of ["domain.key", "stabilizing.key"]) {
    await writeNew(join(workspace.keyDirectory, name), `${randomBytes(32).toString("hex")}\n`, 0o600);
  }
  await carryOverConf(workspace, parameters);
  await writeNew(workspace.configPath, formatNodeConf({ ...conf, version: parameters.version, workspace }), 0o644);
  await writeParameters(workspace.parametersPath, parameters);
  // The version of this call overrides that of programs installed since the last call.
  await rm(join(workspace.binDirectory, releaseFile), { force: true });
  await writePrograms(workspace, parameters);
  return workspace;
}

async function writePrograms(workspace: Workspace, { version, profile }: NodeParameters): Promise<void> {
  const { binDirectory, opsDirectory, directory } = workspace;
  const family = findFamilyOfProfile(profile);
  const write = async (path: string, text: string) => {
    // A real node's programs are not rewritten at a start.
    if (profile === "strict" && (await entryExists(path))) return;
    await replaceFile(path, text, { mode: 0o755 });
    await chmod(path, 0o755);
  };
  await write(join(binDirectory, family.programs.tool), formatLauncher("node_cli", workspace));
  await write(join(opsDirectory, "ops"), formatLauncher("ops", workspace));
  if (family.programs.process === undefined) return;
  // `ops` starts the node; this program only reports its commit.
  const commit = `#!/bin/sh\n[ "$1" = --version ] && exec echo ${deriveCommit(version, family)}\necho "run ./ops start" >&2\nexit 1\n`;
  await write(join(binDirectory, family.programs.process), commit);
  await writeNew(join(directory, ".password"), `${randomBytes(16).toString("hex")}\n`, 0o600);
  if (family.forksPath !== undefined) await writeNew(join(binDirectory, basename(family.forksPath)), forks, 0o644);
}

/** The programs that the scripts in a node's bin directory run. */
const programs = {
  ops: locateProgramFile("../command/ops.main.ts", import.meta.url),
  node_cli: locateProgramFile("../command/node-cli.main.ts", import.meta.url),
} as const;

/**
 * Formats a workspace's `ops` or `node_cli` script. The script derives the workspace from its own path, so that a workspace can be moved or
 * mounted elsewhere, and passes the workspace and the arguments to the program.
 */
function formatLauncher(name: keyof typeof programs, { directory, binDirectory, opsDirectory }: Workspace): string {
  const up = relative(name === "ops" ? opsDirectory : binDirectory, directory);
  return [
    "#!/bin/sh",
    `workspace=$(cd "$(dirname "$0")/${up || "."}" && pwd -P) || exit 1`,
    // Compiled code is cached, so that the next start is faster.
    'export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$workspace/run/compile-cache}"',
    `exec ${quoteShellWord(process.execPath)} ${quoteShellWord(programs[name])} "$workspace" "$@"`,
    "",
  ].join("\n");
}

/** A fork schedule in the public networks' format. */
const forks = `${JSON.stringify({ "Devnet-250101": { version: 1, epoch: 0 } }, null, 2)}\n`;

async function carryOverConf(workspace: Workspace, { nodeDirectory, profile }: NodeParameters): Promise<void> {
  if (await entryExists(workspace.configPath)) return;
  const place = { directory: workspace.directory, nodeDirectory, profile };
  for (const { since } of nodeReleases.toReversed()) {
    const { configPath } = locateWorkspace({ ...place, version: since });
    if (await entryExists(configPath)) return copyFile(configPath, workspace.configPath);
  }
}

async function writeNew(path: string, content: string, mode: number): Promise<void> {
  try {
    await writeFile(path, content, { flag: "wx", mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

type NodePorts = Readonly<{ http: number; webSocket: number; rpc: number; tcp: number }>;

type NodeConfOptions = Readonly<{
  version: string;
  workspace: Workspace;
  /** Address that the node advertises to its peers. */
  hostIp: string;
  ports: NodePorts;
  /** If unset, there is no `monitor_config`. */
  monitor?: MonitorSettings | undefined;
}>;

/** Formats a new `node.conf` (specification, "Node operations objects"). */
export function formatNodeConf({ version, workspace, hostIp, ports, monitor }: NodeConfOptions): string {
  const { monitorKeys } = findReleaseOfText(version);
  const conf = {
    chain: {
      ...(monitor === undefined ? {} : { monitor_config: buildMonitorConfig(monitorKeys, monitor) }),
      secret_config: {
        domain_key_path: join(workspace.keyDirectory, "domain.key"),
        stabilizing_key_path: join(workspace.keyDirectory, "stabilizing.key"),
      },
      startup_config: {
        init_config: {
          meta_path: join(workspace.dataDirectory, "meta"),
          host_ip: hostIp,
          http_port: String(ports.http),
          rpc_port: String(ports.rpc),
          tcp_port: String(ports.tcp),
          ws_port: String(ports.webSocket),
        },
      },
    },
    storage: {
      mygrid_conf: {},
      mygrid_env: { storage_data_path: workspace.dataDirectory },
    },
  };
  return `${JSON.stringify(conf, null, 2)}\n`;
}

function buildMonitorConfig(keys: MonitorKeys, target: MonitorSettings): Record<string, unknown> {
  return {
    [keys.enabled]: true,
    [keys.jobName]: target.jobName,
    [keys.pushAddress]: target.pushAddress,
    [keys.pushIntervalSeconds]: target.pushIntervalSeconds,
    [keys.pushPort]: target.pushPort,
  };
}
