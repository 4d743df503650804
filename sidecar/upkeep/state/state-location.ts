import { hash } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { StartupError } from "#daemon/process/startup-error.ts";
import { identifyNode, type IdentitySettings } from "./node-identity.ts";
import { upkeepStateFile } from "./upkeep-state.ts";

/** Settings that determine the location of a node's state. */
export type StateLocationSettings = IdentitySettings &
  Readonly<{ upkeep: Readonly<{ stateDirectory?: string | undefined }> }>;

/** Facts about the machine. */
export type StateLocationInfo = Readonly<{
  userStateDirectory: string;
  /** Whether this user may write to a directory. */
  isWritable: (directory: string) => boolean;
}>;

/** Directory for the state inside the node's workspace. */
const workspaceState = ".gatehouse";

/**
 * Lists the possible locations of a node's state, the likeliest first: the configured one only or, if none is configured, one in the node's
 * workspace, then a per-node one in the user's state directory. Never the current directory: another node's sidecar may be started there
 * tomorrow.
 */
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

/**
 * Chooses the location: an existing state, or else the first writable location.
 *
 * @throws {StartupError} when the workspace is missing, e.g. because it isn't mounted yet: state created elsewhere in the meantime would
 * lack the pause and the adoption.
 */
export function chooseStateLocation(
  settings: StateLocationSettings,
  configPath: string,
  { userStateDirectory, isWritable }: StateLocationInfo,
): string {
  const places = listStateLocations(settings, configPath, userStateDirectory);
  const used = places.find((place) => existsSync(join(place, upkeepStateFile)));
  if (used !== undefined) return used;
  const [first, ...others] = places;
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

/** Whether this user may write to a directory. */
export function mayWrite(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
