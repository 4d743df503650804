import { resolve } from "node:path";
import { resolveNodeLayout } from "#node/layout.ts";
import { listStatePlaces, type StatePlaceSettings } from "../state/state-place.ts";

/**
 * Finds the directories that may contain the state, and so the control socket, of a sidecar with these settings; undefined if they specify
 * neither a node nor a directory.
 */
export function findControlPlaces(
  settings: StatePlaceSettings,
  userStateDirectory: string,
): readonly string[] | undefined {
  const { node, upkeep } = settings;
  if (upkeep.stateDirectory !== undefined) return [resolve(upkeep.stateDirectory)];
  if (node.workspace === undefined && node.configPath === undefined) return undefined;
  return listStatePlaces(settings, resolveNodeLayout(node).configPath, userStateDirectory);
}
