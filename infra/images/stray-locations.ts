import { resolve } from "node:path";
import { findConfValue } from "#node/conf/document.ts";
import { parseText } from "#node/conf/parsed-text.ts";

/** Directories in a node's container: the working directory, the chain data and the keys. */
export type MountedLocations = Readonly<{ bin: string; data: string; keys: string }>;

const dataFields = [
  ["storage", "mygrid_env", "storage_data_path"],
  ["chain", "startup_config", "init_config", "meta_path"],
] as const;

const keyFields = [
  ["chain", "secret_config", "domain_key_path"],
  ["chain", "secret_config", "stabilizing_key_path"],
] as const;

/**
 * Lists the paths in a node.conf that are outside the directories of the node's container, one per line. Returns none for unparsable text,
 * with which no node starts. A node that finds an empty directory instead of its chain data would start a new chain.
 */
export function findStrayLocations(text: string, { bin, data, keys }: MountedLocations): readonly string[] {
  const read = parseText(text.replace(/^\uFEFF/, ""));
  if (!read.ok) return [];
  const stray = (fields: readonly (readonly string[])[], directory: string) =>
    fields.flatMap((path) => {
      const found = findConfValue(read.parsed.value, path);
      if (typeof found !== "string" || isWithin(resolve(bin, found), directory)) return [];
      return [`${path.join(".")} is ${found}; this deployment mounts ${directory}`];
    });
  return [...stray(dataFields, data), ...stray(keyFields, keys)];
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
