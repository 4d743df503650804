import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import type { NodeEnd } from "../stopped-node.ts";
import { ClusterError, type Cluster } from "./cluster.ts";
import { names, podFinalizer } from "./kubernetes-names.ts";
import { fieldManager } from "./kubectl.ts";
import { findNodePod, requireWorkload, type NodePod, type Workload } from "./workload.ts";

export type ScaleDependencies = Readonly<{
  cluster: Cluster;
  clock: Pick<Clock, "monotonicMs">;
  pause: Pause;
}>;

/** Interval of polling the cluster. */
export const checkAgainMs = 2_000;
/** Time beyond the node's grace period for the cluster to kill it and unmount its volumes. */
const killMs = 120_000;
/** Max attempts to change the list of field managers, which the cluster's controllers change too. */
const releasesMax = 5;

/**
 * Scales the node to 0, waits for the node to exit within its grace period, and returns how it exited. As with job pods, a finalizer keeps
 * the node's pod until the exit is read: only the pod records the exit, and this command may be killed before it reads it. {@link
 * scaleDown} releases the pod.
 *
 * @throws {ClusterError} that may be temporary, if the node does not exit.
 */
export async function endNode(dependencies: ScaleDependencies): Promise<NodeEnd> {
  const { cluster } = dependencies;
  const workload = await requireWorkload(cluster);
  const pod = await findNodePod(cluster);
  if (pod !== undefined) await holdPod(pod, cluster);
  await scale(workload, 0, cluster);
  const ended = await waitForPod(
    (now) => now === undefined || (now.metadata.deletionTimestamp !== undefined && hasEnded(now)),
    { withinMs: findGraceMs(workload) + killMs, why: "did not end" },
    dependencies,
  );
  return ended === undefined ? "unknown" : readEnd(ended);
}

/** Scales the node to 0, and waits until its pod is removed. */
export async function scaleDown(dependencies: ScaleDependencies): Promise<void> {
  const { cluster } = dependencies;
  const workload = await requireWorkload(cluster);
  await scale(workload, 0, cluster);
  await releasePod(cluster);
  const wait = { withinMs: findGraceMs(workload) + killMs, why: "is not gone" };
  await waitForPod((now) => now === undefined, wait, dependencies);
}

function findGraceMs({ spec }: Workload): number {
  return spec.template.spec.terminationGracePeriodSeconds * 1_000;
}

/** Scales the node to 1, and releases a pod whose finalizer an earlier run left. */
export async function scaleUp({ cluster }: Pick<ScaleDependencies, "cluster">): Promise<void> {
  await releasePod(cluster);
  await scale(await requireWorkload(cluster), 1, cluster);
}

async function holdPod({ metadata }: NodePod, cluster: Cluster): Promise<void> {
  // A cluster accepts no new finalizer on a pod that is being deleted.
  if (metadata.finalizers.includes(podFinalizer) || metadata.deletionTimestamp !== undefined) return;
  const finalizers = [...metadata.finalizers, podFinalizer];
  await cluster.patch("pod", names.pod, { type: "merge", change: { metadata: { uid: metadata.uid, finalizers } } });
}

async function releasePod(cluster: Cluster): Promise<void> {
  const pod = await findNodePod(cluster);
  if (pod?.metadata.finalizers.includes(podFinalizer) !== true) return;
  const finalizers = pod.metadata.finalizers.filter((name) => name !== podFinalizer);
  await cluster.patch("pod", names.pod, { type: "merge", change: { metadata: { uid: pod.metadata.uid, finalizers } } });
}

async function scale({ spec }: Workload, replicas: number, cluster: Cluster): Promise<void> {
  if (spec.replicas !== replicas) {
    const isDone = await cluster.patch("statefulset", names.workload, {
      type: "merge",
      change: { spec: { replicas } },
    });
    if (!isDone) throw new ClusterError(`the cluster has no StatefulSet ${names.workload} any more`, false);
  }
  await releaseField(cluster);
}

/**
 * Releases ownership of the changed field. Otherwise the next `pulumi up` would be rejected because of a conflict with this field manager
 * (Kubernetes, "Server-Side Apply", "Conflicts").
 */
async function releaseField(cluster: Cluster): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { managedFields } = (await requireWorkload(cluster)).metadata;
    const at = managedFields.findIndex(({ manager }) => manager === fieldManager);
    if (at === -1) return;
    const path = `/metadata/managedFields/${at}`;
    try {
      await cluster.patch("statefulset", names.workload, {
        type: "json",
        change: [
          { op: "test", path: `${path}/manager`, value: fieldManager },
          { op: "remove", path },
        ],
      });
    } catch (error) {
      // The cluster's own controllers changed the list concurrently.
      if (!(error instanceof ClusterError) || tries >= releasesMax) throw error;
    }
  }
}

type PodWait = Readonly<{ withinMs: number; why: string }>;

async function waitForPod(
  isRight: (pod: NodePod | undefined) => boolean,
  { withinMs, why }: PodWait,
  { cluster, clock, pause }: ScaleDependencies,
): Promise<NodePod | undefined> {
  const untilMs = clock.monotonicMs() + withinMs;
  for (;;) {
    const pod = await findNodePod(cluster);
    if (isRight(pod)) return pod;
    if (clock.monotonicMs() >= untilMs) {
      throw new ClusterError(`the pod ${names.pod} ${why} within ${withinMs} ms; look at its events`, true);
    }
    await pause(checkAgainMs);
  }
}

/** Returns whether a pod has exited. The phase is set last; before that, every container, including the sidecar, must have exited. */
function hasEnded({ metadata, status }: NodePod): boolean {
  if (metadata.deletionGracePeriodSeconds === 0) return true;
  if (status.phase === "Succeeded" || status.phase === "Failed") return true;
  const all = [...status.containerStatuses, ...status.initContainerStatuses];
  return all.length > 0 && all.every(({ state }) => state.running === undefined && state.terminated !== undefined);
}

/** Exit status of a killed process (128 + SIGKILL). */
const killedStatus = 137;

function readEnd({ status }: NodePod): NodeEnd {
  const end = status.containerStatuses.find(({ name }) => name === names.node)?.state.terminated;
  if (end === undefined) return "unknown";
  return end.exitCode === killedStatus || end.reason === "OOMKilled" ? "killed" : "by itself";
}
