import type { ClusterKind } from "../kubernetes/kubectl.ts";
import { fieldManager } from "../kubernetes/kubectl.ts";
import { names as objects, podFinalizer, upgradeLabel } from "../kubernetes/kubernetes-names.ts";
import type { VolumeReport } from "../workspace-report.ts";
import { prefix, type ClusterState, type WorldParts, type WorldState } from "./world-state.ts";

export const checkClaim: VolumeReport = {
  bytes: 1_000,
  freeBytes: 1_000_000,
  clones: false,
  leftovers: [],
  copies: [],
  conf: Buffer.from("{}").toString("base64"),
};

export function findObject(parts: WorldParts, kind: ClusterKind, name: string): object | undefined {
  const { cluster } = parts.state;
  switch (kind) {
    case "statefulset":
      return describeWorkload(cluster);
    case "pod":
      return name === objects.pod ? describePod(cluster) : describeJob(parts.state, name);
    case "persistentvolumeclaim":
      return name === objects.claim || cluster.hasCopyClaim ? claim : undefined;
    case "volumesnapshot": {
      const { snapshot } = cluster;
      const status = { readyToUse: snapshot?.task.isDone(), boundVolumeSnapshotContentName: "content" };
      return snapshot === undefined ? undefined : { ...snapshot.object, status };
    }
    default:
      return undefined;
  }
}

const claim = {
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "500Gi" } },
  },
  status: { phase: "Bound", capacity: { storage: "512Gi" } },
};

function describeWorkload({ replicas, template, generation, isOwned }: ClusterState): object {
  const user = { runAsUser: 1_000, runAsGroup: 10_001 };
  const volumeMounts = [{ name: objects.claim, subPath: "data" }];
  return {
    metadata: {
      uid: "set",
      generation,
      labels: { "app.kubernetes.io/instance": prefix },
      managedFields: [{ manager: "pulumi" }, ...(isOwned ? [{ manager: fieldManager }] : [])],
    },
    spec: {
      replicas,
      template: {
        spec: {
          containers: [{ name: "node", image: template, securityContext: user, volumeMounts }],
          initContainers: [{ name: "sidecar", image: "gatehouse:1" }],
          terminationGracePeriodSeconds: 300,
        },
      },
    },
  };
}

function describePod({ pod }: ClusterState): object | undefined {
  if (pod === undefined) return undefined;
  const exitCode = pod.ended === "killed" ? 137 : 0;
  const state = pod.ended === undefined ? { running: {} } : { terminated: { exitCode } };
  return {
    metadata: {
      uid: pod.uid,
      finalizers: pod.held ? [podFinalizer] : [],
      ...(pod.deleting ? { deletionTimestamp: "2027-01-05T02:00:00Z" } : {}),
    },
    spec: { containers: [{ name: "node", image: pod.image }] },
    status: { phase: pod.ended === undefined ? "Running" : "Succeeded", containerStatuses: [{ name: "node", state }] },
  };
}

function describeJob({ jobs }: WorldState, name: string): object | undefined {
  const job = jobs.get(name);
  if (job === undefined) return undefined;
  const ended = job.task.failure() === undefined ? "Succeeded" : "Failed";
  return {
    metadata: { uid: name, labels: { [upgradeLabel]: job.owner } },
    spec: { containers: [] },
    status: { phase: job.task.isDone() ? ended : "Running" },
  };
}
