import { PlatformError } from "../stack-platform.ts";
import type { StackRecord } from "../stack-record.ts";
import { explainJobEnd, volumeLocation, workspaceProgram } from "../workspace-report.ts";
import { buildMetadata, formatLabelId, formatCopyName, names, upgradeLabel } from "./kubernetes-names.ts";
import { findNodeUser, findPod, pollCluster, requireWorkload, type ClusterWork, type Pod } from "./workload.ts";

type WorkLocation = Pick<StackRecord, "prefix" | "toolImage" | "id">;

type Work = Readonly<{ action: "flush" | "restore"; withinMs: number }>;

const removalTimeoutMs = 120_000;
const graceSeconds = 10;

const sourceLocation = "/source";

/** Runs a program on the node's claim in a separate pod to completion, and removes the pod. An upgrade runs one pod at a time. */
export async function runWorkPod(location: WorkLocation, what: Work, work: ClusterWork): Promise<void> {
  const { cluster } = work;
  const name = names.job;
  const user = findNodeUser(await requireWorkload(cluster));
  if (user === undefined) {
    throw new PlatformError(`the StatefulSet ${names.workload} does not specify its node's user`, false);
  }
  const owner = formatLabelId(location);
  const left = await findPod(cluster, name);
  const ownerLabel = left?.metadata.labels[upgradeLabel] ?? "unnamed";
  if (left !== undefined && ownerLabel !== owner && !hasFinished(left)) {
    throw new PlatformError(`${name} runs for another upgrade (${ownerLabel}); wait for it to exit`, true);
  }
  // A pod that a killed run left behind may still be working until it is gone.
  await cluster.remove("pod", name);
  const metadata = buildMetadata(name, location);
  const create = () =>
    cluster.create({ apiVersion: "v1", kind: "Pod", metadata, spec: buildWorkSpec(location, what, user) });
  if (!(await pollCluster(create, Boolean, removalTimeoutMs, work))) {
    throw new PlatformError(`the pod ${name} of an earlier run was not removed within ${removalTimeoutMs} ms`, true);
  }
  try {
    await waitForEnd(name, what.withinMs, work);
  } finally {
    await cluster.remove("pod", name);
  }
}

async function waitForEnd(name: string, withinMs: number, work: ClusterWork): Promise<void> {
  const { cluster } = work;
  const read = () => findPod(cluster, name);
  const found = await pollCluster(read, (pod) => pod === undefined || hasFinished(pod), withinMs, work);
  if (found === undefined) throw new PlatformError(`the pod ${name} was removed before it finished`, false);
  if (!hasFinished(found)) {
    const why = explainWait(found);
    throw new PlatformError(`${name} did not finish within ${withinMs} ms, and was removed${why}`, false);
  }
  if (found.status.phase === "Succeeded") return;
  const podLogs = await cluster.readLogs(name);
  const status = found.status.containerStatuses[0]?.state.terminated?.exitCode ?? "unknown";
  throw new PlatformError(explainJobEnd(name, { status, printed: podLogs, program: workspaceProgram }), false);
}

function hasFinished({ status }: Pod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

function explainWait({ status }: Pod): string {
  const schedulingFailure = status.conditions.find(
    (found) => found.type === "PodScheduled" && found.status === "False",
  );
  const waitingState = status.containerStatuses[0]?.state.waiting;
  const reasons = [waitingState?.reason, waitingState?.message].filter((word) => word !== undefined);
  const why = schedulingFailure?.message ?? reasons.join(": ");
  return why === "" ? "" : ` (${why})`;
}

/** Builds a pod for namespaces with the Pod Security Standard `restricted`; it runs as the owner of the node's files. Pure. */
function buildWorkSpec(
  location: WorkLocation,
  { action, withinMs }: Work,
  { uid, gid }: Readonly<{ uid: number; gid: number }>,
) {
  const source = { name: "source", mountPath: sourceLocation, readOnly: true };
  const isRestore = action === "restore";
  return {
    restartPolicy: "Never",
    activeDeadlineSeconds: Math.ceil(withinMs / 1_000),
    terminationGracePeriodSeconds: graceSeconds,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: uid,
      runAsGroup: gid,
      fsGroup: gid,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [
      {
        name: "work",
        image: location.toolImage,
        command: [
          "node",
          workspaceProgram,
          action,
          volumeLocation,
          ...(isRestore ? [location.id, sourceLocation] : []),
        ],
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "0.05", memory: "128Mi" } },
        volumeMounts: [{ name: "volume", mountPath: volumeLocation }, ...(isRestore ? [source] : [])],
      },
    ],
    volumes: [
      { name: "volume", persistentVolumeClaim: { claimName: names.claim } },
      ...(isRestore ? [{ name: "source", persistentVolumeClaim: { claimName: formatCopyName(location) } }] : []),
    ],
  };
}
