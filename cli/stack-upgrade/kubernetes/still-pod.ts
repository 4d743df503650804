import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { AmendRecord } from "../run-stack-upgrade.ts";
import { formatKubectlCommand } from "../stack-commands.ts";
import type { Removed } from "../stack-platform.ts";
import type { StackRecord } from "../stack-record.ts";
import type { KubernetesTarget } from "../stack-target.ts";
import { restoreClaim, takeSnapshot } from "./claim-snapshot.ts";
import { ClusterError, type Cluster } from "./cluster.ts";
import { formatLabelId, nameCopy, names } from "./kubernetes-names.ts";
import { endNode, scaleDown, type ScaleDependencies } from "./scale-node.ts";
import { runWorkPod, sourcePlace } from "./work-pod.ts";
import { findNodePod, identifyState, requireWorkload } from "./workload.ts";

const done = { kind: "done" } as const;

/** Time limits of flushing the data, and of removing leftovers of a restore. */
const flushMs = 1_800_000;
const removeMs = 600_000;

/** Stops the node to take a snapshot of its data. Fails if it had to be killed: its data may be incomplete, and the snapshot useless for a roll-back. */
export async function stopNode(
  record: StackRecord,
  dependencies: ScaleDependencies,
  amend: AmendRecord,
): Promise<StageOutcome> {
  // Skipped if an earlier run read how it ended, and was killed after that.
  if (record.lastStart === undefined || !(await isUnchanged(record, dependencies))) {
    const end = await endNode(dependencies);
    if (end === "killed") {
      return {
        kind: "failed",
        why: `${names.pod} did not end within its grace and was killed: its data may not be whole`,
      };
    }
    if (end === "unknown") {
      return { kind: "failed", why: `how ${names.pod} ended is not known: its data may not be whole` };
    }
    await amend({ lastStart: identifyState(await requireWorkload(dependencies.cluster)) });
  }
  await scaleDown(dependencies);
  return done;
}

/** Takes the snapshot of a node that has not run since it was stopped, over all runs of the command. */
export async function copyStill(
  record: StackRecord,
  target: Pick<KubernetesTarget, "snapshotClass">,
  dependencies: ScaleDependencies,
): Promise<StageOutcome> {
  const failed = { kind: "failed", why: `${names.pod} was started while its data were copied` } as const;
  if (!(await isStill(record, dependencies))) return failed;
  // A snapshot has only data on the disk, and the kernel writes them later than the program.
  await runWorkPod(record, { ...buildPodFields(record), action: "flush", more: [], withinMs: flushMs }, dependencies);
  await takeSnapshot(record, target, dependencies);
  return (await isStill(record, dependencies)) ? done : failed;
}

/** Stops whichever version runs, to put the old data back. */
export async function stopToGoBack(
  record: StackRecord,
  dependencies: ScaleDependencies,
  amend: AmendRecord,
): Promise<StageOutcome> {
  const isSpoiled = record.restored === "begun" && !(await isStill(record, dependencies));
  await scaleDown(dependencies);
  if (isSpoiled) {
    // Somebody started the node over half-restored data; the snapshot still has them all.
    await forgetRestore(record, dependencies);
    await amend({ restored: undefined });
  }
  await amend({ lastStart: identifyState(await requireWorkload(dependencies.cluster)) });
  return done;
}

/** Restores the old data from the snapshot. */
export async function putBackStill(
  record: StackRecord,
  dependencies: ScaleDependencies,
  amend: AmendRecord,
): Promise<StageOutcome> {
  if (record.restored !== "whole") {
    const started = { kind: "failed", why: `${names.pod} was started while it had to stand still` } as const;
    if (!(await isStill(record, dependencies))) return started;
    await amend({ restored: "begun" });
    await restoreClaim(record, dependencies.cluster);
    const source = { claim: nameCopy(record), place: sourcePlace };
    const work = { ...buildPodFields(record), action: "restore", more: [record.id, sourcePlace], source };
    await runWorkPod(record, { ...work, withinMs: record.limits.copyMs }, dependencies);
    if (!(await isStill(record, dependencies))) return started;
    await amend({ restored: "whole" });
  }
  // Once the node runs, its claim may be out of reach.
  if (await isStill(record, dependencies)) await forgetRestore(record, dependencies);
  return done;
}

/** Removes the snapshot, and the claim that was restored from it. */
export async function removeCopy(record: StackRecord, target: KubernetesTarget, cluster: Cluster): Promise<Removed> {
  const name = nameCopy(record);
  try {
    await cluster.remove("pod", names.job);
    await cluster.remove("persistentvolumeclaim", name);
    await cluster.remove("volumesnapshot", name);
    return done;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const command = formatKubectlCommand(target, "delete", `volumesnapshot/${name}`, `persistentvolumeclaim/${name}`);
    const note = `The copy of the data could not be removed (${error.message}). Remove it: ${command}`;
    return { kind: "done", note };
  }
}

/** Removes leftovers of a restore from the claim, but not the new version's data; the next restore starts over. */
async function forgetRestore(record: StackRecord, dependencies: ScaleDependencies): Promise<void> {
  const work = { ...buildPodFields(record), action: "remove", more: [record.id], withinMs: removeMs };
  await runWorkPod(record, work, dependencies);
}

function buildPodFields(record: StackRecord) {
  return { name: names.job, owner: formatLabelId(record), onNodeOfPods: false } as const;
}

async function isUnchanged(record: StackRecord, { cluster }: ScaleDependencies): Promise<boolean> {
  return identifyState(await requireWorkload(cluster)) === record.lastStart;
}

async function isStill(record: StackRecord, dependencies: ScaleDependencies): Promise<boolean> {
  const workload = await requireWorkload(dependencies.cluster);
  if (workload.spec.replicas !== 0 || identifyState(workload) !== record.lastStart) return false;
  return (await findNodePod(dependencies.cluster)) === undefined;
}
