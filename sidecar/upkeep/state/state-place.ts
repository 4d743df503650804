import { createHash } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { identifyNode, type IdentitySettings } from "./node-identity.ts";
import { upkeepStateFile } from "./upkeep-state.ts";

/** What tells where the state of a node is. */
export type StatePlaceSettings = IdentitySettings &
  Readonly<{ upkeep: Readonly<{ stateDirectory?: string | undefined }> }>;

/** Directory of the state inside the node's workspace. */
const workspaceState = ".gatehouse";

/**
 * Places where the state of a node may be, the likeliest first: the one that is set, else in the node's workspace, else the user's, by
 * the node. Never the current directory: another node's sidecar may be started there tomorrow.
 */
export function statePlaces(
  settings: StatePlaceSettings,
  configPath: string,
  userStateDirectory: string,
): readonly [string, ...string[]] {
  const { stateDirectory } = settings.upkeep;
  if (stateDirectory !== undefined) return [resolve(stateDirectory)];
  const { configPath: path, chainId, host } = identifyNode(settings, configPath, undefined);
  const key = createHash("sha256")
    .update(JSON.stringify([path, chainId, host]))
    .digest("hex")
    .slice(0, 16);
  return [join(workspaceOf(settings, configPath), workspaceState), join(userStateDirectory, key)];
}

/** The place that is used: where state is already, else the first that can be written. */
export function chooseStatePlace(settings: StatePlaceSettings, configPath: string, userStateDirectory: string): string {
  const places = statePlaces(settings, configPath, userStateDirectory);
  const used = places.find((place) => existsSync(join(place, upkeepStateFile)));
  if (used !== undefined) return used;
  const [first, ...others] = places;
  if (settings.upkeep.stateDirectory !== undefined || isWritable(workspaceOf(settings, configPath))) return first;
  return others[0] ?? first;
}

function workspaceOf({ node }: StatePlaceSettings, configPath: string): string {
  return resolve(node.workspace ?? dirname(configPath));
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
