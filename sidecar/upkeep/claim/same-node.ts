import type { NodeHost, NodeIdentity } from "../state/node-identity.ts";

/** Difference between two nodes, with the stored value; `upkeep.movedFrom` lists that value if the node is the same but moved. */
export type NodeDifference = Readonly<{ what: "chain" | "data path" | "node.conf" | "host"; remembered: string }>;

/** Facts that distinguish a moved node from a different one. */
export type MoveInfo = Readonly<{
  /** `upkeep.movedFrom`. */
  movedFrom: readonly string[];
  /** Paths of node.conf in this workspace, for every version's layout. */
  layouts: readonly string[];
  /** Whether a path exists. */
  isThere: (path: string) => boolean;
}>;

/**
 * Finds the differences between a node and the stored one; none if it is the same node. These count as the same node: a machine or
 * container with a new host name; a pod recreated by its controller; a node.conf behind a redirected link, in the other layout of the same
 * workspace, or moved while its data stayed. A path that never had a node.conf identifies no node yet. Pure but for `isThere`.
 */
export function findNodeDifferences(
  remembered: NodeIdentity,
  found: NodeIdentity,
  { movedFrom, layouts, isThere }: MoveInfo,
): readonly NodeDifference[] {
  const differences: NodeDifference[] = [];
  const note = (what: NodeDifference["what"], before: string) => {
    if (!movedFrom.includes(before)) differences.push({ what, remembered: before });
  };
  const chain = String(remembered.chainId);
  const chains = [remembered.chainId, remembered.answeredChainId];
  if (!chains.includes(found.chainId)) note("chain", chain);
  const { dataPath } = remembered;
  const hasBoth = dataPath !== undefined && found.dataPath !== undefined;
  const hasOtherData = hasBoth && dataPath !== found.dataPath;
  if (hasOtherData) note("data path", dataPath);
  const isSameFile =
    isUnread(remembered) ||
    remembered.configPath === found.configPath ||
    remembered.namedPath === found.namedPath ||
    layouts.includes(remembered.configPath) ||
    layouts.includes(remembered.namedPath) ||
    // If node.conf is missing but its data stayed, it was moved.
    (hasBoth && !hasOtherData && !isThere(remembered.configPath)) ||
    hasOtherData;
  if (!isSameFile) note("node.conf", remembered.configPath);
  if (isAnotherHost(remembered.host, found.host)) note("host", remembered.host.name);
  return differences;
}

/** Whether no node.conf was ever read for an identity, so that nothing is known about the node. */
export function isUnread({ dataPath }: NodeIdentity): boolean {
  return dataPath === undefined;
}

/** Ordinal at the end of a StatefulSet pod's name. A Deployment's pod names end in five letters and digits. */
const ordinal = /^(.+)-(\d{1,4})$/;

function isAnotherHost(one: NodeHost, other: NodeHost): boolean {
  if (one.kind !== other.kind || one.name === other.name) return false;
  // A machine's name changes with its container or at its owner's choice; a container's name never changes.
  if (one.kind !== "pod") return one.kind === "container";
  const [a, b] = [ordinal.exec(one.name), ordinal.exec(other.name)];
  return a !== null && b !== null && a[1] === b[1];
}
