import { systemClock } from "#daemon/clock.ts";
import { pause } from "#daemon/time.ts";
import { formatKubectlCommand } from "../stack-commands.ts";
import type { StackPlatform, StackTask } from "../stack-platform.ts";
import type { KubernetesTarget, StackRecord } from "../stack-record.ts";
import { checkCluster } from "./check-cluster.ts";
import { restoreClaim, takeSnapshot } from "./claim-snapshot.ts";
import type { Cluster } from "./kubectl.ts";
import { formatCopyName, names } from "./kubernetes-names.ts";
import { deleteNodePod, scaleDown, scaleUp } from "./scale-node.ts";
import { runWorkPod } from "./work-pod.ts";
import { findNodeContainer, findPod, findWorkload, requireWorkload, type ClusterWork } from "./workload.ts";

const flushMs = 1_800_000;

/** Creates the platform for a cluster: it scales the node to 0 and 1, and copies its data via a VolumeSnapshot of its claim. */
export function createKubernetesPlatform(
  prefix: string,
  target: KubernetesTarget,
  cluster: Cluster,
  waits: Omit<ClusterWork, "cluster"> = { clock: systemClock, pause },
): StackPlatform {
  const work = { cluster, ...waits };
  const { namespace, snapshotClass } = target;
  const workload = `the StatefulSet ${names.workload} of ${namespace}`;
  const ofClass = snapshotClass === undefined ? "" : ` of the class ${snapshotClass}`;
  const resume = ["-c", names.sidecar, "--", "node", "/app/cli/gatehouse.js", "resume"];
  return {
    node: names.pod,
    volume: `the claim ${names.claim}`,
    plan: {
      stop: `Scale ${workload} to 0: the node exits within its grace period, the sidecar after it. From here on the gateway is down.`,
      copy: (copyWords) =>
        `Take a VolumeSnapshot${ofClass} of ${names.claim}, ${copyWords}, and wait until it is ready to use.`,
      update: "Run pulumi up, which scales it to 1 again.",
      clean:
        "Once the new version is verified, delete the VolumeSnapshot: after that, there is no rollback to the old data.",
      back: "If anything fails before pulumi up: scale it to 1 again. If anything fails later: scale it to 0, set the old image, delete the new version's data, copy the old data and node.conf from the VolumeSnapshot, run pulumi up. Then verify the old version. Blocks that the new version received are fetched again.",
    },
    imageProof: "by the image of its pod alone",
    resumeCommand: formatKubectlCommand(target, "exec", names.pod, ...resume),
    // The new version's data is replaced.
    keepsFailedData: false,
    check: () => checkCluster({ prefix, target }, cluster),
    see: async () => {
      const { metadata, spec } = await requireWorkload(cluster);
      const isStopped = spec.replicas === 0 && (await findPod(cluster)) === undefined;
      return { isStopped, lastStart: `${metadata.uid} ${metadata.generation}` };
    },
    end: () => deleteNodePod(work),
    stop: () => scaleDown(work),
    start: () => scaleUp(cluster),
    copyData: async (record) => {
      // A snapshot includes only data on disk, which the kernel writes later than the program.
      await runWorkPod(record, { action: "flush", withinMs: flushMs }, work);
      await takeSnapshot(record, target, work);
    },
    restoreData: async (record) => {
      await restoreClaim(record, cluster);
      await runWorkPod(record, { action: "restore", withinMs: record.limits.copyMs }, work);
    },
    removeCopy: async (record) => {
      await cluster.remove("pod", names.job);
      for (const kind of ["persistentvolumeclaim", "volumesnapshot"] as const)
        await cluster.remove(kind, formatCopyName(record));
    },
    formatDiscardCommand: (record) => {
      const name = formatCopyName(record);
      return formatKubectlCommand(target, "delete", `volumesnapshot/${name}`, `persistentvolumeclaim/${name}`);
    },
    runsImage: async (image) => {
      const found = await findWorkload(cluster);
      if (found === undefined || findNodeContainer(found.spec.template.spec)?.image !== image) return false;
      const pod = await findPod(cluster);
      return pod === undefined || findNodeContainer(pod.spec)?.image === image;
    },
    // Pulumi finds the resources that it created by their names, and adopts them.
    repair: async (failed, record, stack) => failed === undefined && (await refreshNode(namespace, record, stack)),
  };
}

/** Refreshes the node in Pulumi's state, if it is there: a killed update may not have recorded its change. */
async function refreshNode(
  namespace: string,
  { limits }: StackRecord,
  { pulumi, say }: Pick<StackTask, "pulumi" | "say">,
): Promise<boolean> {
  const known = await pulumi.readIds("kubernetes:apps/v1:StatefulSet");
  const urns = [...known].flatMap(([urn, id]) => (id === `${namespace}/${names.workload}` ? [urn] : []));
  if (urns.length === 0) return false;
  say(
    "In Pulumi's state the node has this image, but it has another; refreshing the state and running pulumi up again.",
  );
  await pulumi.refresh(urns, limits.updateMs);
  return true;
}
