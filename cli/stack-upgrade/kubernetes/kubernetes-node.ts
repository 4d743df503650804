import { formatKubectlCommand } from "../stack-commands.ts";
import type { Removed } from "../stack-platform.ts";
import type { StackRecord } from "../stack-record.ts";
import type { KubernetesTarget } from "../stack-target.ts";
import type { NodeAdapter } from "../stopped-node.ts";
import { restoreClaim, takeSnapshot } from "./claim-snapshot.ts";
import { ClusterError, type Cluster } from "./cluster.ts";
import { formatLabelId, nameCopy, names } from "./kubernetes-names.ts";
import { endNode, scaleDown, type ScaleDependencies } from "./scale-node.ts";
import { runWorkPod, sourceLocation, type WorkPod } from "./work-pod.ts";
import { findNodePod, identifyState, requireWorkload } from "./workload.ts";

/** Time limits for flushing the data and removing leftovers of a restore. */
const flushMs = 1_800_000;
const removeMs = 600_000;

/** Creates the adapter for a node in a pod, whose data is preserved in a VolumeSnapshot of its claim. */
export function createKubernetesNode(
  target: Pick<KubernetesTarget, "snapshotClass">,
  dependencies: ScaleDependencies,
): NodeAdapter {
  const { cluster } = dependencies;
  const work = (record: StackRecord, pod: Pick<WorkPod, "action" | "more" | "source" | "withinMs">) =>
    runWorkPod(record, { name: names.job, owner: formatLabelId(record), onNodeOfPods: false, ...pod }, dependencies);
  return {
    name: () => names.pod,
    see: async () => {
      const workload = await requireWorkload(cluster);
      const isStopped = workload.spec.replicas === 0 && (await findNodePod(cluster)) === undefined;
      return { isStopped, lastStart: identifyState(workload) };
    },
    end: () => endNode(dependencies),
    stop: () => scaleDown(dependencies),
    copyData: async (record) => {
      // A snapshot includes only data on disk, which the kernel writes later than the program.
      await work(record, { action: "flush", more: [], withinMs: flushMs });
      await takeSnapshot(record, target, dependencies);
    },
    restoreData: async (record) => {
      await restoreClaim(record, cluster);
      const source = { claim: nameCopy(record), place: sourceLocation };
      const more = [record.id, sourceLocation];
      await work(record, { action: "restore", more, source, withinMs: record.limits.copyMs });
    },
    // The new version's data remains, and the snapshot still has all of the old data.
    resetRestore: async (record) =>
      void (await work(record, { action: "remove", more: [record.id], withinMs: removeMs })),
  };
}

/** Removes the snapshot and the claim restored from it. */
export async function removeCopy(record: StackRecord, target: KubernetesTarget, cluster: Cluster): Promise<Removed> {
  const name = nameCopy(record);
  try {
    await cluster.remove("pod", names.job);
    await cluster.remove("persistentvolumeclaim", name);
    await cluster.remove("volumesnapshot", name);
    return { kind: "done" };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const command = formatKubectlCommand(target, "delete", `volumesnapshot/${name}`, `persistentvolumeclaim/${name}`);
    const note = `The copy of the data could not be removed (${error.message}). Remove it: ${command}`;
    return { kind: "done", note };
  }
}
