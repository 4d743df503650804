import type { NodeHost, NodeIdentity } from "../state/node-identity.ts";

/** Difference between two nodes, with the remembered value; `upkeep.movedFrom` names that value if it is the same node, moved. */
export type NodeDifference = Readonly<{ what: "chain" | "data path" | "node.conf" | "host"; remembered: string }>;

/** Facts that distinguish a moved node from another one. */
export type MoveFacts = Readonly<{
  /** `upkeep.movedFrom`. */
  movedFrom: readonly string[];
  /** Paths of node.conf in this workspace, whichever layout the node's version has. */
  layouts: readonly string[];
  /** Whether a path exists. */
  isThere: (path: string) => boolean;
}>;

/**
 * Finds the differences between a node and the remembered one; none if it is the same. The same are: a machine or container with
 * another host name; a pod that its controller recreated; a node.conf behind a link that points elsewhere now, of the other
 * layout of the same workspace, or moved while its data stayed. A path at which node.conf never was names no node yet. Pure but for `isThere`.
 */
export function findNodeDifferences(
  remembered: NodeIdentity,
  found: NodeIdentity,
  { movedFrom, layouts, isThere }: MoveFacts,
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
    // A node.conf that is gone while its data stayed was moved.
    (hasBoth && !hasOtherData && !isThere(remembered.configPath)) ||
    hasOtherData;
  if (!isSameFile) note("node.conf", remembered.configPath);
  if (isAnotherHost(remembered.host, found.host)) note("host", remembered.host.name);
  return differences;
}

/** Whether no node.conf was ever read for an identity, so that nothing is known of the node. */
export function isUnread({ dataPath }: NodeIdentity): boolean {
  return dataPath === undefined;
}

/** The number at the end of a StatefulSet's pod. A Deployment's pods end in five letters and digits. */
const ordinal = /^(.+)-(\d{1,4})$/;

function isAnotherHost(one: NodeHost, other: NodeHost): boolean {
  if (one.kind !== other.kind || one.name === other.name) return false;
  // A machine's name changes with its container, or as its owner likes; a container's name is given once.
  if (one.kind !== "pod") return one.kind === "container";
  const [a, b] = [ordinal.exec(one.name), ordinal.exec(other.name)];
  return a !== null && b !== null && a[1] === b[1];
}
