import type { NodeHost, NodeIdentity } from "../state/node-identity.ts";

type NodeDifference = "chain" | "data path" | "node.conf" | "host";

export type MoveInfo = Readonly<{
  layouts: readonly string[];
  entryExists: (path: string) => boolean;
}>;

/**
 * Finds the differences that show that a node is not the stored one. These don't count as differences: a machine's new host name, a
 * recreated pod, a node.conf that moved while its data stayed, and a path that never had a node.conf. Pure except for `entryExists`.
 */
export function findNodeDifferences(
  remembered: NodeIdentity,
  found: NodeIdentity,
  { layouts, entryExists }: MoveInfo,
): readonly NodeDifference[] {
  const differences: NodeDifference[] = [];
  const chains = [remembered.chainId, remembered.answeredChainId];
  if (!chains.includes(found.chainId)) differences.push("chain");
  const { dataPath } = remembered;
  const hasBoth = dataPath !== undefined && found.dataPath !== undefined;
  const hasOtherData = hasBoth && dataPath !== found.dataPath;
  if (hasOtherData) differences.push("data path");
  const isSameFile =
    isUnread(remembered) ||
    remembered.configPath === found.configPath ||
    remembered.namedPath === found.namedPath ||
    layouts.includes(remembered.configPath) ||
    layouts.includes(remembered.namedPath) ||
    // If node.conf is missing but its data is still in place, node.conf was moved.
    (hasBoth && !hasOtherData && !entryExists(remembered.configPath)) ||
    hasOtherData;
  if (!isSameFile) differences.push("node.conf");
  if (isDifferentHost(remembered.host, found.host)) differences.push("host");
  return differences;
}

/** Whether the identity was created without reading a node.conf, so that nothing is known about the node. */
export function isUnread({ dataPath }: NodeIdentity): boolean {
  return dataPath === undefined;
}

/** Ordinal at the end of a StatefulSet pod's name. The names of a Deployment's pods end in five letters and digits. */
const ordinal = /^(.+)-(\d{1,4})$/;

function isDifferentHost(one: NodeHost, other: NodeHost): boolean {
  if (one.kind !== other.kind || one.name === other.name) return false;
  // A machine's name may change, with its container or by its owner; a container's name never does.
  if (one.kind !== "pod") return one.kind === "container";
  const [a, b] = [ordinal.exec(one.name), ordinal.exec(other.name)];
  return a !== null && b !== null && a[1] === b[1];
}
