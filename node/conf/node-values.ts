import { resolve } from "node:path";
import { findConfValue, type ConfigDocument, type JsonObject } from "./document.ts";

/**
 * Values unique to one node, keyed by path in the file: its data, keys and ports (specification, "Node operations objects"). Paths are
 * absolute. Values missing from the file are absent.
 */
export type NodeValues = Readonly<Record<string, string>>;

export const dataPathKey = "storage.mygrid_env.storage_data_path";

const initConfig: readonly string[] = ["chain", "startup_config", "init_config"];

/** A different value at one of these paths means another node's data or keys. */
const paths: readonly (readonly string[])[] = [
  ["storage", "mygrid_env", "storage_data_path"],
  [...initConfig, "meta_path"],
  ["chain", "secret_config", "domain_key_path"],
  ["chain", "secret_config", "stabilizing_key_path"],
];

const ports = ["http_port", "rpc_port", "tcp_port", "ws_port"].map((name) => initConfig.concat(name));

/** Reads the node's own values from a node.conf whose relative paths are resolved against `pathsDirectory`. Pure. */
export function readNodeValues({ value }: ConfigDocument, pathsDirectory: string): NodeValues {
  const entries = [
    ...paths.map(
      (path) => [path.join("."), readText(value, path), (text: string) => resolve(pathsDirectory, text)] as const,
    ),
    ...ports.map((path) => [path.join("."), readText(value, path), (text: string) => text] as const),
  ];
  return Object.fromEntries(entries.flatMap(([name, text, read]) => (text === undefined ? [] : [[name, read(text)]])));
}

/** Describes the first value that differs; undefined if none does. Pure. */
export function findValueDifference(copy: NodeValues, node: NodeValues): string | undefined {
  return findFirstDifference(copy, node, [...paths, ...ports]);
}

/** Works like {@link findValueDifference}, but only for data and keys: a rollback may correct a port, but must not swap data or keys. Pure. */
export function findOwnershipDifference(copy: NodeValues, node: NodeValues): string | undefined {
  return findFirstDifference(copy, node, paths);
}

export function specifiesOwner(values: NodeValues): boolean {
  return paths.some((path) => path.join(".") in values);
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
