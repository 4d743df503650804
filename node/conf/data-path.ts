import { dirname, resolve } from "node:path";
import { findConfValue, type JsonObject } from "./document.ts";

/** Finds the node's data directory: the setting, else `storage.mygrid_env.storage_data_path`, else the configuration's directory. */
export function findDataPath(setting: string | undefined, configPath: string, value: JsonObject | undefined): string {
  const directory = dirname(configPath);
  if (setting !== undefined) return resolve(setting);
  const path = findConfValue(value, ["storage", "mygrid_env", "storage_data_path"]);
  return typeof path === "string" && path !== "" ? resolve(directory, path) : directory;
}
