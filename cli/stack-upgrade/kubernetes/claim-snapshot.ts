import { z } from "zod";
import type { StackRecord } from "../stack-record.ts";
import type { KubernetesTarget } from "../stack-target.ts";
import { ClusterError, type Cluster } from "./cluster.ts";
import { formatLabelId, nameCopy, names, snapshotGroup, upgradeLabel } from "./kubernetes-names.ts";
import { checkAgainMs, type ScaleDependencies } from "./scale-node.ts";

const snapshotShape = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
  status: z
    .object({
      readyToUse: z.boolean().optional(),
      boundVolumeSnapshotContentName: z.string().optional(),
      error: z.object({ message: z.string().optional() }).optional(),
    })
    .default({}),
});

/** VolumeSnapshot fields that an upgrade reads (snapshot.storage.k8s.io/v1). */
export type VolumeSnapshot = Readonly<z.output<typeof snapshotShape>>;

const claimShape = z.object({
  spec: z.object({
    volumeName: z.string().optional(),
    storageClassName: z.string().optional(),
    volumeMode: z.string().optional(),
    accessModes: z.array(z.string()),
    resources: z.object({ requests: z.object({ storage: z.string() }) }),
  }),
  status: z
    .object({ phase: z.string().optional(), capacity: z.object({ storage: z.string() }).optional() })
    .default({}),
});

/** Fields of the node's claim that an upgrade reads. */
export type NodeClaim = Readonly<z.output<typeof claimShape>>;

/** Max wait for a snapshot that no controller picks up or that keeps failing; the node is stopped during the wait. */
const hopelessMs = 180_000;

export function findClaim(cluster: Cluster): Promise<NodeClaim | undefined> {
  return cluster.find(claimShape, "persistentvolumeclaim", names.claim);
}

/** Lists the snapshots that upgrades in the namespace took and did not remove. */
export function listUpgradeSnapshots(cluster: Cluster): Promise<readonly VolumeSnapshot[]> {
  return cluster.list(snapshotShape, "volumesnapshot", upgradeLabel);
}

/**
 * Takes an upgrade's VolumeSnapshot, unless an earlier run did, and waits until it is ready to use.
 *
 * @throws {ClusterError} if it does not become ready.
 */
export async function takeSnapshot(
  record: StackRecord,
  { snapshotClass }: Pick<KubernetesTarget, "snapshotClass">,
  dependencies: ScaleDependencies,
): Promise<void> {
  const { cluster } = dependencies;
  await cluster.create({
    apiVersion: `${snapshotGroup}/v1`,
    kind: "VolumeSnapshot",
    metadata: { name: nameCopy(record), labels: buildLabels(record) },
    spec: {
      source: { persistentVolumeClaimName: names.claim },
      ...(snapshotClass === undefined ? {} : { volumeSnapshotClassName: snapshotClass }),
    },
  });
  await waitUntilReady(record, dependencies);
}

async function waitUntilReady(record: StackRecord, { cluster, clock, pause }: ScaleDependencies): Promise<void> {
  const beganMs = clock.monotonicMs();
  const untilMs = beganMs + record.limits.copyMs;
  let hopelessSinceMs: number | undefined = beganMs;
  for (;;) {
    const snapshot = await requireSnapshot(record, cluster);
    const { status } = snapshot;
    if (status.readyToUse === true) return;
    const why = explainUnready(snapshot);
    const nowMs = clock.monotonicMs();
    hopelessSinceMs = why === undefined ? undefined : (hopelessSinceMs ?? nowMs);
    const isHopeless = hopelessSinceMs !== undefined && nowMs - hopelessSinceMs >= hopelessMs;
    if (isHopeless || nowMs >= untilMs) {
      const words = why === undefined ? "" : `: ${why}`;
      const name = nameCopy(record);
      throw new ClusterError(`the VolumeSnapshot ${name} is not ready within ${nowMs - beganMs} ms${words}`, false);
    }
    await pause(checkAgainMs);
  }
}

function explainUnready({ status }: VolumeSnapshot): string | undefined {
  if (status.error !== undefined) return status.error.message ?? "its controller reports an error without words";
  if (status.boundVolumeSnapshotContentName !== undefined) return undefined;
  return "no snapshot controller has taken it up; see to it that the cluster runs one";
}

/** Creates a claim from an upgrade's VolumeSnapshot, as large as the node's, unless an earlier run did. */
export async function restoreClaim(record: StackRecord, cluster: Cluster): Promise<void> {
  const claim = await findClaim(cluster);
  if (claim === undefined) throw new ClusterError(`the cluster has no claim ${names.claim} any more`, false);
  await requireSnapshot(record, cluster);
  const name = nameCopy(record);
  const { storageClassName, volumeMode, accessModes, resources } = claim.spec;
  // The volume may be larger than requested, and its snapshot needs a volume at least as large.
  const storage = claim.status.capacity?.storage ?? resources.requests.storage;
  await cluster.create({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, labels: buildLabels(record) },
    spec: {
      accessModes,
      ...(storageClassName === undefined ? {} : { storageClassName }),
      ...(volumeMode === undefined ? {} : { volumeMode }),
      resources: { requests: { storage } },
      dataSource: { apiGroup: snapshotGroup, kind: "VolumeSnapshot", name },
    },
  });
}

async function requireSnapshot(record: StackRecord, cluster: Cluster): Promise<VolumeSnapshot> {
  const name = nameCopy(record);
  const found = await cluster.find(snapshotShape, "volumesnapshot", name);
  if (found?.metadata.labels[upgradeLabel] === formatLabelId(record)) return found;
  const why = found === undefined ? "is not there any more" : "is not the one of this upgrade";
  throw new ClusterError(`the VolumeSnapshot ${name} ${why}`, false);
}

function buildLabels(record: StackRecord): Readonly<Record<string, string>> {
  return {
    "app.kubernetes.io/name": "gatehouse",
    "app.kubernetes.io/instance": record.prefix,
    [upgradeLabel]: formatLabelId(record),
  };
}
