import { resolve } from "node:path";
import { findConfValue, type JsonObject } from "./document.ts";

/**
 * Finds the node's data directory: the setting, or else `storage.mygrid_env.storage_data_path`, or else the base directory for relative
 * paths in the node's configuration.
 */
export function findDataPath(
  setting: string | undefined,
  pathsDirectory: string,
  value: JsonObject | undefined,
): string {
  if (setting !== undefined) return resolve(setting);
  const path = findConfValue(value, ["storage", "mygrid_env", "storage_data_path"]);
  return typeof path === "string" && path !== "" ? resolve(pathsDirectory, path) : pathsDirectory;
}
