import type { NodeHost, NodeIdentity } from "../state/node-identity.ts";

/** By what two nodes differ, and what the remembered one has; `upkeep.movedFrom` names that value where it is the same node, moved. */
export type NodeDifference = Readonly<{ what: "chain" | "data path" | "node.conf" | "host"; remembered: string }>;

/** What distinguishes a move from another node. */
export type MoveFacts = Readonly<{
  /** `upkeep.movedFrom`. */
  movedFrom: readonly string[];
  /** Paths of node.conf in this workspace, whichever layout the node's version has. */
  layouts: readonly string[];
  /** Whether a path is there. */
  isThere: (path: string) => boolean;
}>;

/**
 * Finds by what a node differs from the one that is remembered: by nothing when it is the same. The same are: a machine or container with
 * another host name; a pod that its controller recreated; a node.conf behind a link that points elsewhere now, of the other
 * layout of the same workspace, or moved while its data stayed. Pure but for `isThere`.
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
    remembered.configPath === found.configPath ||
    remembered.namedPath === found.namedPath ||
    layouts.includes(remembered.configPath) ||
    layouts.includes(remembered.namedPath) ||
    // With its data where they were, a node.conf that is gone was moved.
    (hasBoth && !hasOtherData && !isThere(remembered.configPath)) ||
    hasOtherData;
  if (!isSameFile) note("node.conf", remembered.configPath);
  if (isAnotherHost(remembered.host, found.host)) note("host", remembered.host.name);
  return differences;
}

/** The number at the end of a StatefulSet's pod. A Deployment's pods end in five letters and digits. */
const ordinal = /^(.+)-(\d{1,4})$/;

function isAnotherHost(one: NodeHost, other: NodeHost): boolean {
  if (one.kind !== other.kind || one.name === other.name) return false;
  // A machine's name changes with its container, and with its owner's mind; one name of a container stays.
  if (one.kind !== "pod") return one.kind === "container";
  const [a, b] = [ordinal.exec(one.name), ordinal.exec(other.name)];
  return a !== null && b !== null && a[1] === b[1];
}
