import { resolve } from "node:path";
import { resolveNodeLayout } from "#node/layout.ts";
import { listStateLocations, type StateLocationSettings } from "../state/state-location.ts";

/**
 * Finds the directories that may contain the state, and so the control socket, of a sidecar with these settings; undefined if they specify
 * neither a node nor a directory.
 */
export function findControlLocations(
  settings: StateLocationSettings,
  userStateDirectory: string,
): readonly string[] | undefined {
  const { node, upkeep } = settings;
  if (upkeep.stateDirectory !== undefined) return [resolve(upkeep.stateDirectory)];
  if (node.workspace === undefined && node.configPath === undefined) return undefined;
  return listStateLocations(settings, resolveNodeLayout(node).configPath, userStateDirectory);
}
