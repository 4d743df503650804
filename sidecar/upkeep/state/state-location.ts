import { hash } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { StartupError } from "#daemon/process/startup-error.ts";
import { identifyNode, type IdentitySettings } from "./node-identity.ts";
import { upkeepStateFile } from "./upkeep-state.ts";
import { resolveNodeLayout } from "#node/layout.ts";

type StateLocationSettings = IdentitySettings & Readonly<{ upkeep: Readonly<{ stateDirectory?: string | undefined }> }>;

type StateLocationInfo = Readonly<{
  userStateDirectory: string;
  isWritable: (directory: string) => boolean;
}>;

const workspaceState = ".gatehouse";

/** Lists where the state may be, likeliest first. Never the current directory: another node's sidecar may be started there tomorrow. */
export function listStateLocations(
  settings: StateLocationSettings,
  configPath: string,
  userStateDirectory: string,
): readonly [string, ...string[]] {
  const { stateDirectory } = settings.upkeep;
  if (stateDirectory !== undefined) return [resolve(stateDirectory)];
  const {
    configPath: path,
    chainId,
    host,
  } = identifyNode(settings, { configPath, pathsDirectory: dirname(configPath) }, undefined);
  const key = hash("sha256", JSON.stringify([path, chainId, host])).slice(0, 16);
  return [join(locateWorkspace(settings, configPath), workspaceState), join(userStateDirectory, key)];
}

/** Chooses existing state, or else the first writable location. @throws {StartupError} when the workspace is missing: it may not be mounted yet. */
export function chooseStateLocation(
  settings: StateLocationSettings,
  configPath: string,
  { userStateDirectory, isWritable }: StateLocationInfo,
): string {
  const locations = listStateLocations(settings, configPath, userStateDirectory);
  const used = locations.find((location) => existsSync(join(location, upkeepStateFile)));
  if (used !== undefined) return used;
  const [first, ...others] = locations;
  if (settings.upkeep.stateDirectory !== undefined) return first;
  const workspace = locateWorkspace(settings, configPath);
  if (!existsSync(workspace)) {
    throw new StartupError(
      `the node's workspace ${workspace} does not exist; mount it, or set GATEHOUSE_SIDECAR_NODE_WORKSPACE to its location.`,
    );
  }
  if (isWritable(workspace)) return first;
  return others[0] ?? first;
}

function locateWorkspace({ node }: StateLocationSettings, configPath: string): string {
  return resolve(node.workspace ?? dirname(configPath));
}

export function mayWrite(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Lists the directories in which a sidecar with these settings may have its state; undefined if they specify neither a node nor a directory. */
export function findControlLocations(
  settings: StateLocationSettings,
  userStateDirectory: string,
): readonly string[] | undefined {
  const { node, upkeep } = settings;
  if (upkeep.stateDirectory !== undefined) return [resolve(upkeep.stateDirectory)];
  if (node.workspace === undefined && node.configPath === undefined) return undefined;
  return listStateLocations(settings, resolveNodeLayout(node).configPath, userStateDirectory);
}
