import { dirname, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "./document.ts";

/** The node's data directory: the setting, else `storage.mygrid_env.storage_data_path`, else the configuration's directory. */
export function dataPathOf(setting: string | undefined, configPath: string, value: JsonObject | undefined): string {
  const directory = dirname(configPath);
  if (setting !== undefined) return resolve(setting);
  const storage = value?.["storage"];
  const environment = isJsonObject(storage) ? storage["mygrid_env"] : undefined;
  const path = isJsonObject(environment) ? environment["storage_data_path"] : undefined;
  return typeof path === "string" && path !== "" ? resolve(directory, path) : directory;
}
