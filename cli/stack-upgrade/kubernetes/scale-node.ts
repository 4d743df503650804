import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import { ClusterError, type Cluster } from "./cluster.ts";
import { names, podFinalizer } from "./kubernetes-names.ts";
import { fieldManager } from "./kubectl.ts";
import { findNodePod, requireWorkload, type NodePod, type Workload } from "./workload.ts";

export type ScaleDependencies = Readonly<{
  cluster: Cluster;
  clock: Pick<Clock, "monotonicMs">;
  pause: Pause;
}>;

/** How often it is looked whether something has come about. */
export const lookAgainMs = 2_000;
/** Beyond the node's own grace, for the cluster to kill it and to unmount its volumes. */
const killMs = 120_000;
/** How often the list of owners may be another one before it is changed. */
const releasesMax = 5;

/** How the node ended: `unknown` where its pod was gone before that was seen. */
export type NodeEnd = "by itself" | "killed" | "unknown";

/**
 * Scales the node to 0, waits for its end within its grace, and returns how it ended. Its pod is held until then by a finalizer, as jobs hold theirs: a pod that is gone
 * has no record of how its node ended, and whoever waits may have been killed meanwhile. {@link scaleDown} lets it go.
 *
 * @throws {ClusterError} that may pass, where it does not end.
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

/** Scales the node to 0, and waits until its pod is gone. */
export async function scaleDown(dependencies: ScaleDependencies): Promise<void> {
  const { cluster } = dependencies;
  const workload = await requireWorkload(cluster);
  await scale(workload, 0, cluster);
  await letGo(cluster);
  const wait = { withinMs: findGraceMs(workload) + killMs, why: "is not gone" };
  await waitForPod((now) => now === undefined, wait, dependencies);
}

function findGraceMs({ spec }: Workload): number {
  return spec.template.spec.terminationGracePeriodSeconds * 1_000;
}

/** Scales the node to 1, where it is not; a pod that an earlier run holds is let go. */
export async function scaleUp({ cluster }: Pick<ScaleDependencies, "cluster">): Promise<void> {
  await letGo(cluster);
  await scale(await requireWorkload(cluster), 1, cluster);
}

async function holdPod({ metadata }: NodePod, cluster: Cluster): Promise<void> {
  // A cluster lets nobody hold a pod that is on its way out.
  if (metadata.finalizers.includes(podFinalizer) || metadata.deletionTimestamp !== undefined) return;
  const finalizers = [...metadata.finalizers, podFinalizer];
  await cluster.patch("pod", names.pod, { type: "merge", change: { metadata: { uid: metadata.uid, finalizers } } });
}

async function letGo(cluster: Cluster): Promise<void> {
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
  await disown(cluster);
}

/**
 * Gives up the ownership of the field that was changed: else the next `pulumi up` would be refused for a conflict with this field manager (Kubernetes, "Server-Side
 * Apply", "Conflicts").
 */
async function disown(cluster: Cluster): Promise<void> {
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
      // The cluster's own controllers have changed the list meanwhile.
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
    await pause(lookAgainMs);
  }
}

/** The phase comes last; without one, every container has to have ended, the sidecar among them. */
function hasEnded({ metadata, status }: NodePod): boolean {
  if (metadata.deletionGracePeriodSeconds === 0) return true;
  if (status.phase === "Succeeded" || status.phase === "Failed") return true;
  const all = [...status.containerStatuses, ...status.initContainerStatuses];
  return all.length > 0 && all.every(({ state }) => state.running === undefined && state.terminated !== undefined);
}

/** The exit status of a process that was killed. */
const killedStatus = 137;

function readEnd({ status }: NodePod): NodeEnd {
  const end = status.containerStatuses.find(({ name }) => name === names.node)?.state.terminated;
  if (end === undefined) return "unknown";
  return end.exitCode === killedStatus || end.reason === "OOMKilled" ? "killed" : "by itself";
}
