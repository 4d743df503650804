import { resolve } from "node:path";
import { findConfValue, type ConfigDocument, type JsonObject } from "./document.ts";

/** Values unique to one node, by their path in the file; file paths are absolute (specification, "Node operations objects"). */
export type NodeValues = Readonly<Record<string, string>>;

export const dataPathKey = "storage.mygrid_env.storage_data_path";

export const initPath: readonly string[] = ["chain", "startup_config", "init_config"];

/** A different value at one of these paths means another node's data or keys. */
export const ownerPaths: readonly (readonly string[])[] = [
  ["storage", "mygrid_env", "storage_data_path"],
  [...initPath, "meta_path"],
  ["chain", "secret_config", "domain_key_path"],
  ["chain", "secret_config", "stabilizing_key_path"],
];

/** The node's listening ports (specification, "Node configuration file"), which are strings in the file, each with an example. */
export const portExamples: Readonly<Record<string, string>> = {
  http_port: "18100",
  rpc_port: "20000",
  tcp_port: "19000",
  ws_port: "18200",
};
const ports = Object.keys(portExamples).map((name) => initPath.concat(name));

/** Reads the node's own values from a node.conf whose relative paths are resolved against `pathsDirectory`. Pure. */
export function readNodeValues({ value }: ConfigDocument, pathsDirectory: string): NodeValues {
  const read = (path: readonly string[], convert: (text: string) => string) => {
    const text = readText(value, path);
    return text === undefined ? [] : [[path.join("."), convert(text)] as const];
  };
  return Object.fromEntries([
    ...ownerPaths.flatMap((path) => read(path, (text) => resolve(pathsDirectory, text))),
    ...ports.flatMap((path) => read(path, String)),
  ]);
}

/** Describes the first value that differs; undefined if none does. Pure. */
export function findValueDifference(copy: NodeValues, node: NodeValues): string | undefined {
  return findFirstDifference(copy, node, [...ownerPaths, ...ports]);
}

/** Works like {@link findValueDifference}, but only for data and keys: a rollback may correct a port, but must not swap data or keys. Pure. */
export function findOwnershipDifference(copy: NodeValues, node: NodeValues): string | undefined {
  return findFirstDifference(copy, node, ownerPaths);
}

export function specifiesOwner(values: NodeValues): boolean {
  return ownerPaths.some((path) => path.join(".") in values);
}

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

function findFirstDifference(
  copy: NodeValues,
  node: NodeValues,
  names: readonly (readonly string[])[],
): string | undefined {
  const name = names.map((path) => path.join(".")).find((each) => copy[each] !== node[each]);
  return name === undefined
    ? undefined
    : `${name} is ${copy[name] ?? "not set"} in the backup, but ${node[name] ?? "not set"} on the node`;
}

function readText(value: JsonObject, path: readonly string[]): string | undefined {
  const found = findConfValue(value, path);
  return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
}
