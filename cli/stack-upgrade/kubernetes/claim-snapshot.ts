import { z } from "zod";
import { PlatformError } from "../stack-platform.ts";
import type { StackRecord, KubernetesTarget } from "../stack-record.ts";
import type { Cluster } from "./kubectl.ts";
import {
  buildMetadata,
  formatLabelId,
  formatCopyName,
  names,
  snapshotGroup,
  upgradeLabel,
} from "./kubernetes-names.ts";
import { pollCluster, type ClusterWork } from "./workload.ts";

/** VolumeSnapshot fields that an upgrade reads (snapshot.storage.k8s.io/v1). */
const snapshotSchema = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()).default({}) }),
  status: z
    .object({
      readyToUse: z.boolean().optional(),
      boundVolumeSnapshotContentName: z.string().optional(),
      error: z.object({ message: z.string().optional() }).optional(),
    })
    .default({}),
});

type VolumeSnapshot = Readonly<z.output<typeof snapshotSchema>>;

const claimSchema = z.object({
  spec: z.object({
    storageClassName: z.string().optional(),
    volumeMode: z.string().optional(),
    accessModes: z.array(z.string()),
    resources: z.object({ requests: z.object({ storage: z.string() }) }),
  }),
  status: z
    .object({ phase: z.string().optional(), capacity: z.object({ storage: z.string() }).optional() })
    .default({}),
});

/** Max wait for a snapshot that no controller picks up or that keeps failing; the node is stopped during the wait. */
const giveUpAfterMs = 180_000;

export function findClaim(cluster: Cluster) {
  return cluster.find(claimSchema, "persistentvolumeclaim", names.claim);
}

export function listUpgradeSnapshots(cluster: Cluster) {
  return cluster.list(snapshotSchema, "volumesnapshot", upgradeLabel);
}

/** Takes an upgrade's VolumeSnapshot, unless an earlier run did, and waits until it is ready to use. */
export async function takeSnapshot(
  record: StackRecord,
  { snapshotClass: volumeSnapshotClassName }: Pick<KubernetesTarget, "snapshotClass">,
  work: ClusterWork,
): Promise<void> {
  const { cluster, clock } = work;
  await cluster.create({
    apiVersion: `${snapshotGroup}/v1`,
    kind: "VolumeSnapshot",
    metadata: buildMetadata(formatCopyName(record), record),
    spec: { source: { persistentVolumeClaimName: names.claim }, volumeSnapshotClassName },
  });
  const beganMs = clock.monotonicMs();
  let hopefulMs = beganMs;
  const read = async () => {
    const snapshot = await requireSnapshot(record, cluster);
    const isReady = snapshot.status.readyToUse === true;
    const why = explainUnready(snapshot);
    const nowMs = clock.monotonicMs();
    if (why === undefined) hopefulMs = nowMs;
    return { isReady, why, isDone: isReady || nowMs - hopefulMs >= giveUpAfterMs };
  };
  const { isReady, why } = await pollCluster(read, ({ isDone }) => isDone, record.limits.copyMs, work);
  if (isReady) return;
  const reason = why === undefined ? "" : `: ${why}`;
  const tookMs = clock.monotonicMs() - beganMs;
  throw new PlatformError(
    `the VolumeSnapshot ${formatCopyName(record)} is not ready within ${tookMs} ms${reason}`,
    false,
  );
}

function explainUnready({ status }: VolumeSnapshot): string | undefined {
  if (status.error !== undefined) return status.error.message ?? "its controller reports an error without a message";
  if (status.boundVolumeSnapshotContentName !== undefined) return undefined;
  return "no snapshot controller has picked it up; check that the cluster runs one";
}

/** Creates a claim from an upgrade's VolumeSnapshot, as large as the node's, unless an earlier run did. */
export async function restoreClaim(record: StackRecord, cluster: Cluster): Promise<void> {
  const claim = await findClaim(cluster);
  if (claim === undefined) throw new PlatformError(`the cluster no longer has a claim ${names.claim}`, false);
  await requireSnapshot(record, cluster);
  const { storageClassName, volumeMode, accessModes, resources } = claim.spec;
  // The volume may be larger than requested, and its snapshot needs a volume at least as large.
  const storage = claim.status.capacity?.storage ?? resources.requests.storage;
  await cluster.create({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: buildMetadata(formatCopyName(record), record),
    spec: {
      accessModes,
      storageClassName,
      volumeMode,
      resources: { requests: { storage } },
      dataSource: { apiGroup: snapshotGroup, kind: "VolumeSnapshot", name: formatCopyName(record) },
    },
  });
}

async function requireSnapshot(record: StackRecord, cluster: Cluster): Promise<VolumeSnapshot> {
  const name = formatCopyName(record);
  const found = await cluster.find(snapshotSchema, "volumesnapshot", name);
  if (found?.metadata.labels[upgradeLabel] === formatLabelId(record)) return found;
  const why = found === undefined ? "no longer exists" : "belongs to another upgrade";
  throw new PlatformError(`the VolumeSnapshot ${name} ${why}`, false);
}
