/** Names that the stack's program gives to the Kubernetes objects affected by an upgrade. */
export const names = {
  workload: "node",
  /** StatefulSets number their pods from 0. */
  pod: "node-0",
  node: "node",
  sidecar: "sidecar",
  claim: "node-workspace",
  job: "node-upgrade",
} as const;

export const upgradeLabel = "gatehouse.io/upgrade";

/** Finalizer that keeps the node's pod until the node's exit status is read. */
export const podFinalizer = "gatehouse.io/upgrade";

export const snapshotGroup = "snapshot.storage.k8s.io";

export function formatLabelId({ id }: Readonly<{ id: string }>): string {
  return id.toLowerCase();
}

export function formatCopyName(record: Readonly<{ id: string }>): string {
  return `${names.claim}-upgrade-${formatLabelId(record)}`;
}

export function buildMetadata(name: string, record: Readonly<{ prefix: string; id: string }>) {
  const ofStack = { "app.kubernetes.io/name": "gatehouse", "app.kubernetes.io/instance": record.prefix };
  return { name, labels: { ...ofStack, [upgradeLabel]: formatLabelId(record) } };
}
