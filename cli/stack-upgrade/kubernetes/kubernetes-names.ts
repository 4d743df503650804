import type { PlatformDescription } from "../stack-platform.ts";
import { formatKubectlCommand } from "../stack-commands.ts";
import type { KubernetesTarget } from "../stack-target.ts";

/** Names that the stack's program gives to the Kubernetes objects affected by an upgrade. */
export const names = {
  workload: "node",
  /** StatefulSets number their pods from 0. */
  pod: "node-0",
  node: "node",
  sidecar: "sidecar",
  claim: "node-workspace",
  /** Pod in which an upgrade works on the claim. */
  job: "node-upgrade",
  look: "node-look",
} as const;

/** Label with the id of the upgrade that an object belongs to. */
export const upgradeLabel = "gatehouse.io/upgrade";

/** Finalizer that keeps the node's pod until the node's exit status is read. */
export const podFinalizer = "gatehouse.io/upgrade";

/** API group of VolumeSnapshots. */
export const snapshotGroup = "snapshot.storage.k8s.io";

/** Formats an upgrade's id for cluster names and labels. Pure. */
export function formatLabelId({ id }: Readonly<{ id: string }>): string {
  return id.toLowerCase();
}

/** Names an upgrade's VolumeSnapshot and the claim restored from it. Pure. */
export function nameCopy(record: Readonly<{ id: string }>): string {
  return `${names.claim}-upgrade-${formatLabelId(record)}`;
}

/** Describes a stack on Kubernetes for messages. Pure. */
export function describeKubernetes(target: KubernetesTarget): PlatformDescription {
  const { namespace, snapshotClass } = target;
  const workload = `the StatefulSet ${names.workload} of ${namespace}`;
  const ofClass = snapshotClass === undefined ? "" : ` of the class ${snapshotClass}`;
  return {
    node: workload,
    volume: `the claim ${names.claim}`,
    plan: {
      stop: `Scale ${workload} to 0: the node ends within its grace, the sidecar after it. From here on the gateway is away.`,
      copy: (copyWords) =>
        `Take a VolumeSnapshot${ofClass} of ${names.claim}, and wait until it is ready to use: ${copyWords}.`,
      update: "Run pulumi up, which scales it to 1 again.",
      clean: "Once it is proved, delete the VolumeSnapshot: from then on there is no way back to the old data.",
      back: "If anything fails before pulumi up: scale it to 1 again. If anything fails later: scale it to 0, set the old image, copy old data and old node.conf back from the VolumeSnapshot, run pulumi up. Then prove the old version. Blocks that the new version took in are fetched again.",
    },
    imageProof: "by the image of its pod alone",
    resume: formatKubectlCommand(
      target,
      "exec",
      names.pod,
      "-c",
      names.sidecar,
      "--",
      "node",
      "/app/cli/gatehouse.js",
      "resume",
    ),
  };
}
