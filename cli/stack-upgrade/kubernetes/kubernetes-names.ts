/** What the objects of a stack on Kubernetes are called that an upgrade touches; its program gives them these names. */
export const names = {
  workload: "node",
  /** StatefulSets number their pods from 0. */
  pod: "node-0",
  node: "node",
  sidecar: "sidecar",
  claim: "node-workspace",
  /** The pod of an upgrade that works on the claim. */
  job: "node-upgrade",
  look: "node-look",
} as const;

/** Names whose upgrade an object is part of. */
export const upgradeLabel = "gatehouse.io/upgrade";

/** Keeps the node's pod until it was seen how the node ended. */
export const podFinalizer = "gatehouse.io/upgrade";

/** The group of VolumeSnapshots. */
export const snapshotGroup = "snapshot.storage.k8s.io";

/** An upgrade's id as names and labels of a cluster may have it. Pure. */
export function formatLabelId({ id }: Readonly<{ id: string }>): string {
  return id.toLowerCase();
}

/** What an upgrade's VolumeSnapshot is called, and the claim that is restored from it. Pure. */
export function nameCopy(record: Readonly<{ id: string }>): string {
  return `${names.claim}-upgrade-${formatLabelId(record)}`;
}
