import { PlatformError, type NodeExit } from "../stack-platform.ts";
import { fieldManager, type Cluster } from "./kubectl.ts";
import { names, podFinalizer } from "./kubernetes-names.ts";
import { findPod, pollCluster, requireWorkload, type ClusterWork, type Pod, type Workload } from "./workload.ts";

/** Time beyond the node's grace period for the cluster to kill it and unmount its volumes. */
const killMs = 120_000;
/** Max attempts to change the list of field managers, which the cluster's controllers change too. */
const releasesMax = 5;

/**
 * Scales the node to 0, waits for the node to exit within its grace period, and returns how it exited. As with job pods, a finalizer keeps
 * the node's pod until the exit is read: only the pod records the exit, and this command may be killed before it reads it. {@link
 * scaleDown} releases the pod.
 *
 * @throws {PlatformError} that may be temporary, if the node does not exit.
 */
export async function deleteNodePod(work: ClusterWork): Promise<NodeExit | undefined> {
  const { cluster } = work;
  const workload = await requireWorkload(cluster);
  const pod = await findPod(cluster);
  // A cluster accepts no new finalizer on a pod that is being deleted.
  if (pod !== undefined && !isKept(pod) && pod.metadata.deletionTimestamp === undefined) {
    await setFinalizers(pod, [...pod.metadata.finalizers, podFinalizer], cluster);
  }
  await scale(workload, 0, cluster);
  const ended = await waitForPod(hasExited, "did not exit", workload, work);
  const end = ended?.status.containerStatuses.find(({ name }) => name === names.node)?.state.terminated;
  return end && { exitCode: end.exitCode, isOutOfMemory: end.reason === "OOMKilled" };
}

function hasExited(pod: Pod | undefined): boolean {
  return pod === undefined || (pod.metadata.deletionTimestamp !== undefined && hasEnded(pod));
}

/** Scales the node to 0, and waits until its pod is removed. */
export async function scaleDown(work: ClusterWork): Promise<void> {
  const { cluster } = work;
  const workload = await requireWorkload(cluster);
  await scale(workload, 0, cluster);
  await releasePod(cluster);
  await waitForPod((now) => now === undefined, "was not removed", workload, work);
}

/** Scales the node to 1, and releases a pod whose finalizer an earlier run left. */
export async function scaleUp(cluster: Cluster): Promise<void> {
  await releasePod(cluster);
  await scale(await requireWorkload(cluster), 1, cluster);
}

function isKept({ metadata }: Pod): boolean {
  return metadata.finalizers.includes(podFinalizer);
}

async function releasePod(cluster: Cluster): Promise<void> {
  const pod = await findPod(cluster);
  if (pod === undefined || !isKept(pod)) return;
  const otherFinalizers = pod.metadata.finalizers.filter((name) => name !== podFinalizer);
  await setFinalizers(pod, otherFinalizers, cluster);
}

async function setFinalizers({ metadata: { uid } }: Pod, finalizers: readonly string[], cluster: Cluster) {
  await cluster.patch("pod", names.pod, { type: "merge", change: { metadata: { uid, finalizers } } });
}

/**
 * Sets the number of pods, and releases ownership of that field. Otherwise the next `pulumi up` would be rejected because of a conflict
 * with this field manager (Kubernetes, "Server-Side Apply", "Conflicts").
 */
async function scale({ spec }: Workload, replicas: number, cluster: Cluster): Promise<void> {
  if (spec.replicas !== replicas) {
    await cluster.patch("statefulset", names.workload, { type: "merge", change: { spec: { replicas } } });
  }
  for (let tries = 1; ; tries += 1) {
    const { managedFields } = (await requireWorkload(cluster)).metadata;
    const at = managedFields.findIndex(({ manager }) => manager === fieldManager);
    if (at === -1) return;
    const path = `/metadata/managedFields/${at}`;
    const change = [
      { op: "test", path: `${path}/manager`, value: fieldManager },
      { op: "remove", path },
    ];
    try {
      await cluster.patch("statefulset", names.workload, { type: "json", change });
    } catch (error) {
      // The cluster's own controllers changed the list at the same time.
      if (!(error instanceof PlatformError) || tries >= releasesMax) throw error;
    }
  }
}

async function waitForPod(
  isRight: (pod: Pod | undefined) => boolean,
  failure: string,
  { spec }: Workload,
  work: ClusterWork,
): Promise<Pod | undefined> {
  const withinMs = spec.template.spec.terminationGracePeriodSeconds * 1_000 + killMs;
  const pod = await pollCluster(() => findPod(work.cluster), isRight, withinMs, work);
  if (isRight(pod)) return pod;
  throw new PlatformError(`the pod ${names.pod} ${failure} within ${withinMs} ms; check its events`, true);
}

/** Returns whether a pod has exited. The phase is set last; before that, every container, including the sidecar, must have exited. */
function hasEnded({ metadata, status }: Pod): boolean {
  if (metadata.deletionGracePeriodSeconds === 0) return true;
  if (status.phase === "Succeeded" || status.phase === "Failed") return true;
  const all = [...status.containerStatuses, ...status.initContainerStatuses];
  return all.length > 0 && all.every(({ state }) => state.running === undefined && state.terminated !== undefined);
}
