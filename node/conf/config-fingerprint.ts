import { hash } from "node:crypto";
import type { ObjectNode, ValueNode } from "@humanwhocodes/momoa";
import { readJson5Key } from "#daemon/files/json5-tree.ts";
import type { ConfigDocument } from "./document.ts";
import { findRelease, type NodeVersion } from "../versions.ts";
import { listKeySets, type KeySet } from "./monitor-config.ts";

/** Format number written by {@link fingerprintConfig}. The first format had no number. */
const format = "2";

const restPart = "rest";

/** First format: hashes of the storage_* keys, the pamir keys and everything else, in this order. */
const firstFormat = /^([0-9a-f]{64})-([0-9a-f]{64})-([0-9a-f]{64})$/;

/**
 * Fingerprints what a configuration means to a node, as text to store: the format number, then one hash for each naming's `monitor_config` keys
 * and one for everything else, e.g. `2;storage=…;pamir=…;rest=…`. Ignores comments, whitespace, trailing commas and key order. Compares
 * numbers as written, because they may exceed 2^53. Pure.
 */
export function fingerprintConfig(document: ConfigDocument): string {
  const parts = [...hashParts(document, listKeySets())].map(([name, value]) => `${name}=${value}`);
  return [format, ...parts].join(";");
}

/**
 * Returns whether a node of the given version would read a configuration the same way as a stored fingerprint, so that no restart is needed.
 * Ignores `monitor_config` names that the version ignores; for an unknown version, all names count. If the stored fingerprint has an earlier
 * format or fewer namings, the document is converted the way that release did. Pure.
 */
export function matchesFingerprint(kept: string, document: ConfigDocument, version: NodeVersion | undefined): boolean {
  const before = readFingerprint(kept);
  if (before === undefined) return false;
  const own = version === undefined ? undefined : findRelease(version).naming;
  const counting = own === undefined || !before.has(own) ? [...before.keys()] : [own, restPart];
  const sets = listKeySets().filter(({ name }) => before.has(name));
  // In a fingerprint stored before the instance's key was known, that key is part of the rest.
  return [sets, sets.map(({ name, keys, words, range }) => ({ name, keys, words, range }))].some((split) => {
    const now = hashParts(document, split);
    // A naming that has since been removed can't be found.
    return now.size === before.size && counting.every((part) => before.get(part) === now.get(part));
  });
}

/** Returns a stored config fingerprint's hashes by part; undefined if the text is not one or has a later version's format. */
function readFingerprint(text: string): ReadonlyMap<string, string> | undefined {
  const [, storage, pamir, rest] = firstFormat.exec(text) ?? [];
  if (storage !== undefined && pamir !== undefined && rest !== undefined) {
    return new Map([
      ["storage", storage],
      ["pamir", pamir],
      [restPart, rest],
    ]);
  }
  const [number, ...parts] = text.split(";");
  if (number !== format) return undefined;
  return new Map(
    parts.map((part) => {
      const [name = "", value = ""] = part.split("=");
      return [name, value];
    }),
  );
}

function hashParts(document: ConfigDocument, sets: readonly KeySet[]): ReadonlyMap<string, string> {
  const { text } = document;
  // The fingerprint of a JSON5 document covers its whole text, as in every earlier format.
  const root = document.format === "json5" ? undefined : document.root;
  const names = [...sets.map(({ name }) => name), restPart];
  if (root === undefined) return new Map(names.map((name) => [name, hash("sha256", text)]));
  const monitor = findFirstValue(findFirstValue(root, "chain"), "monitor_config");
  const parts = sets.map((set) => {
    const own = monitor?.type === "Object" ? formatCanonicalObject(text, monitor, (key) => hasName(set, key)) : "";
    return [set.name, hash("sha256", own)] as const;
  });
  const rest = formatCanonical(text, root, (node, key) => node !== monitor || !sets.some((set) => hasName(set, key)));
  return new Map([...parts, [restPart, hash("sha256", rest)]]);
}

function hasName({ keys, instanceKey }: KeySet, name: string): boolean {
  return name === instanceKey || Object.values(keys).includes(name);
}

/** Returns a key's value. If the key is duplicated, returns the first value, as stored fingerprints contain it; the editor rejects such a file. */
function findFirstValue(node: ValueNode | undefined, key: string): ValueNode | undefined {
  return node?.type === "Object" ? node.members.find((member) => readJson5Key(member) === key)?.value : undefined;
}

type Keep = (object: ObjectNode, name: string) => boolean;

function formatCanonical(text: string, node: ValueNode, keep: Keep): string {
  if (node.type === "Object") return formatCanonicalObject(text, node, (name) => keep(node, name), keep);
  if (node.type === "Array") return `[${node.elements.map(({ value }) => formatCanonical(text, value, keep)).join()}]`;
  if (node.type === "String") return JSON.stringify(node.value);
  return text.slice(node.loc.start.offset, node.loc.end.offset);
}

/** Formats properties sorted by name. Duplicates keep their order, because parsers differ in which one they use. */
function formatCanonicalObject(
  text: string,
  { members }: ObjectNode,
  keepHere: (name: string) => boolean,
  keep: Keep = () => true,
) {
  const properties = members.flatMap((member) => {
    const name = readJson5Key(member);
    return keepHere(name) ? [{ name, value: formatCanonical(text, member.value, keep) }] : [];
  });
  const sorted = properties.toSorted((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1));
  return `{${sorted.map(({ name, value }) => `${JSON.stringify(name)}:${value}`).join()}}`;
}
