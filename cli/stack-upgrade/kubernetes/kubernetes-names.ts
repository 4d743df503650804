/** Names, given by the stack's program, of its objects on Kubernetes that an upgrade touches. */
export const names = {
  workload: "node",
  /** StatefulSets number their pods from 0. */
  pod: "node-0",
  node: "node",
  sidecar: "sidecar",
  claim: "node-workspace",
  /** Pod of an upgrade that works on the claim. */
  job: "node-upgrade",
  look: "node-look",
} as const;

/** Label with the id of the upgrade that an object belongs to. */
export const upgradeLabel = "gatehouse.io/upgrade";

/** Finalizer that keeps the node's pod until the node's exit status was read. */
export const podFinalizer = "gatehouse.io/upgrade";

/** API group of VolumeSnapshots. */
export const snapshotGroup = "snapshot.storage.k8s.io";

/** Formats an upgrade's id for names and labels of a cluster. Pure. */
export function formatLabelId({ id }: Readonly<{ id: string }>): string {
  return id.toLowerCase();
}

/** Names an upgrade's VolumeSnapshot, and the claim that is restored from it. Pure. */
export function nameCopy(record: Readonly<{ id: string }>): string {
  return `${names.claim}-upgrade-${formatLabelId(record)}`;
}
