import { hash } from "node:crypto";
import type { ObjectNode, ValueNode } from "@humanwhocodes/momoa";
import { readJson5Key } from "#daemon/files/json5-tree.ts";
import type { ConfigDocument } from "./document.ts";
import { nodeReleases, findRelease, type NodeReleases, type NodeVersion } from "../versions.ts";
import { listKeySets, type KeySet } from "./monitor-keys.ts";

/** Number of the format that {@link deriveMeaning} writes. The first one had no number. */
const format = "2";

/** The part with everything that no naming has a name for. */
const restPart = "rest";

/** The first format: hashes of the storage_* keys, of the pamir keys and of all else, in this order. */
const firstFormat = /^([0-9a-f]{64})-([0-9a-f]{64})-([0-9a-f]{64})$/;

/**
 * Derives the meaning of a configuration to a node, as a text to keep: the number of its format, then a hash of the `monitor_config` keys of
 * each naming and one of everything else, e.g. `2;storage=…;pamir=…;rest=…`. Comments, blanks, trailing commas and the order of keys do not
 * count. Numbers count as they are written, because they may exceed 2^53. Pure.
 */
export function deriveMeaning(document: ConfigDocument, releases: NodeReleases = nodeReleases): string {
  const parts = [...hashParts(document, listKeySets(releases))].map(([name, value]) => `${name}=${value}`);
  return [format, ...parts].join(";");
}

/**
 * Whether a node of a version takes the same from a configuration as from one whose meaning was kept, so that it need not be restarted
 * between them. The names of `monitor_config` that the version ignores do not count; of an unknown version all names do. The meaning may
 * be of an earlier format, or of a time that knew fewer namings: the document is split as the configuration was then. Pure.
 */
export function hasSameMeaning(
  kept: string,
  document: ConfigDocument,
  version: NodeVersion | undefined,
  releases: NodeReleases = nodeReleases,
): boolean {
  const before = readMeaning(kept);
  if (before === undefined) return false;
  const own = version === undefined ? undefined : findRelease(version, releases).naming;
  const counting = own === undefined || !before.has(own) ? [...before.keys()] : [own, restPart];
  const sets = listKeySets(releases).filter(({ name }) => before.has(name));
  // A meaning that was kept before the instance's key was known has it among the rest.
  return [sets, sets.map(({ name, keys, words, range }) => ({ name, keys, words, range }))].some((split) => {
    const now = hashParts(document, split);
    // A naming that is known no more can't be looked up.
    return now.size === before.size && counting.every((part) => before.get(part) === now.get(part));
  });
}

/** Returns the hashes of a kept meaning by their part; undefined for any other text, and for a format of a later version. */
function readMeaning(text: string): ReadonlyMap<string, string> | undefined {
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
  // The meaning of JSON5 is its text: that is what was kept of it from the first format on.
  const root = document.format === "json5" ? undefined : document.root;
  const names = [...sets.map(({ name }) => name), restPart];
  if (root === undefined) return new Map(names.map((name) => [name, hashText(text)]));
  const monitor = findFirstValue(findFirstValue(root, "chain"), "monitor_config");
  const parts = sets.map((set) => {
    const own = monitor?.type === "Object" ? formatCanonicalObject(text, monitor, (key) => hasName(set, key)) : "";
    return [set.name, hashText(own)] as const;
  });
  const rest = formatCanonical(text, root, (node, key) => node !== monitor || !sets.some((set) => hasName(set, key)));
  return new Map([...parts, [restPart, hashText(rest)]]);
}

function hashText(text: string): string {
  return hash("sha256", text);
}

function hasName({ keys, instanceKey }: KeySet, name: string): boolean {
  return name === instanceKey || Object.values(keys).includes(name);
}

/** Returns the value of a key, of several equal ones that of the first, as meanings were always kept; editing refuses such a file. */
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

/** Formats properties by name; those of the same name stay in their order, because readers differ in which one counts. */
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
