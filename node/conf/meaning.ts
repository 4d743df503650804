import { createHash } from "node:crypto";
import { findNodeAtLocation, parseTree, type Node } from "jsonc-parser";
import type { ConfigDocument } from "./document.ts";
import type { NodeVersion } from "../versions.ts";
import { namingOf, pamirKeys, storageKeys, type MonitorKeys } from "./monitor-keys.ts";

/**
 * What a configuration means to a node: three hashes, of its `storage_*` keys, of its pamir keys and of all else. Comments, blanks,
 * trailing commas and the order of keys do not count. Numbers count as they are written, because they may exceed 2^53. Pure.
 */
export function meaningOf({ format, text }: ConfigDocument): string {
  // JSON5 has no tree here that keeps its numbers as they are written.
  const root = format === "json5" ? undefined : parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) return [text, text, text].map(hashOf).join("-");
  const monitor = findNodeAtLocation(root, ["chain", "monitor_config"]);
  const parts = [storageKeys, pamirKeys].map((keys) =>
    monitor?.type === "object" ? canonicalObject(text, monitor, (name) => isOf(keys, name)) : "",
  );
  const rest = canonical(
    text,
    root,
    (node, name) => node !== monitor || ![storageKeys, pamirKeys].some((keys) => isOf(keys, name)),
  );
  return [...parts, rest].map(hashOf).join("-");
}

/**
 * Whether a node of a version takes the same from two configurations, so that it need not be restarted between them. The names of
 * `monitor_config` that the version ignores do not count; of an unknown version all names do. Pure.
 */
export function isSameMeaning(one: string, other: string, version: NodeVersion | undefined): boolean {
  if (one === other) return true;
  if (version === undefined) return false;
  const own = namingOf(version).own === storageKeys ? 0 : 1;
  const [a, b] = [one.split("-"), other.split("-")];
  return a.length === b.length && a[own] === b[own] && a[2] === b[2];
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function isOf(keys: MonitorKeys, name: string): boolean {
  return Object.values(keys).includes(name);
}

type Keep = (object: Node, name: string) => boolean;

function canonical(text: string, node: Node, keep: Keep): string {
  if (node.type === "object") return canonicalObject(text, node, (name) => keep(node, name), keep);
  if (node.type === "array") return `[${(node.children ?? []).map((child) => canonical(text, child, keep)).join()}]`;
  if (node.type === "string") return JSON.stringify(node.value);
  return text.slice(node.offset, node.offset + node.length);
}

/** Properties by name; those of the same name stay in their order, because readers differ in which one counts. */
function canonicalObject(
  text: string,
  { children = [] }: Node,
  keepHere: (name: string) => boolean,
  keep: Keep = () => true,
) {
  const properties = children.flatMap(({ children: [key, value] = [] }) => {
    const name = String(key?.value);
    return value === undefined || !keepHere(name) ? [] : [{ name, value: canonical(text, value, keep) }];
  });
  const sorted = properties.toSorted((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1));
  return `{${sorted.map(({ name, value }) => `${JSON.stringify(name)}:${value}`).join()}}`;
}
