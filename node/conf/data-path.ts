import { resolve } from "node:path";
import { findConfValue, type JsonObject } from "./document.ts";

/** The setting, or else the path in the file, or else the base directory for relative paths. */
export function findDataPath(
  setting: string | undefined,
  pathsDirectory: string,
  value: JsonObject | undefined,
): string {
  if (setting !== undefined) return resolve(setting);
  const path = findConfValue(value, ["storage", "mygrid_env", "storage_data_path"]);
  return typeof path === "string" && path !== "" ? resolve(pathsDirectory, path) : pathsDirectory;
}
