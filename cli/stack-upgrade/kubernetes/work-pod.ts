import { randomBytes } from "node:crypto";
import { PlatformError } from "../stack-platform.ts";
import { explainJobEnd, volumeLocation, workspaceProgram } from "../workspace-report.ts";
import type { ClusterObject } from "./cluster.ts";
import { buildLabels, formatLabelId, nameCopy, names, upgradeLabel } from "./kubernetes-names.ts";
import { findNodeUser, findPod, pollCluster, requireWorkload, type ClusterWork, type Pod } from "./workload.ts";

/** A stack's claim, and the upgrade that works on it; none for a check. */
export type WorkLocation = Readonly<{ prefix: string; toolImage: string; id?: string }>;

export type Work = Readonly<{ action: "look" | "flush" | "restore"; withinMs: number }>;

const removedWithinMs = 120_000;
const graceSeconds = 10;

/** Mount path of the claim restored from the snapshot. */
const sourceLocation = "/source";

/**
 * Runs a program on the node's claim in a separate pod to completion, removes the pod, and returns the output. An upgrade runs one pod at a
 * time; a check runs beside any other pod.
 */
export async function runWorkPod(place: WorkLocation, { action, withinMs }: Work, work: ClusterWork): Promise<string> {
  const { cluster } = work;
  const user = findNodeUser(await requireWorkload(cluster));
  if (user === undefined) {
    throw new PlatformError(`the StatefulSet ${names.workload} does not specify its node's user`, false);
  }
  const { id } = place;
  const owner = id === undefined ? randomBytes(4).toString("hex") : formatLabelId({ id });
  const name = id === undefined ? `${names.look}-${owner}` : names.job;
  await removeLeft(name, owner, work);
  const spec = buildWorkSpec(place, { action, withinMs }, user);
  const metadata = { name, labels: buildLabels(place.prefix, owner) };
  if (!(await cluster.create({ apiVersion: "v1", kind: "Pod", metadata, spec } satisfies ClusterObject))) {
    throw new PlatformError(`another process created the pod ${name} meanwhile`, true);
  }
  try {
    return await waitForEnd(name, withinMs, work);
  } finally {
    await cluster.remove("pod", name);
  }
}

/** Removes a pod with this name that a killed run left behind; the pod may still be working. */
async function removeLeft(name: string, owner: string, work: ClusterWork): Promise<void> {
  const { cluster } = work;
  let isRemoved = false;
  const look = async () => {
    const left = await findPod(cluster, name);
    if (left === undefined) return left;
    const theirs = left.metadata.labels[upgradeLabel];
    if (theirs !== owner && !isOver(left)) {
      throw new PlatformError(`${name} runs for another upgrade (${theirs ?? "unnamed"}); wait for it to exit`, true);
    }
    if (!isRemoved) await cluster.remove("pod", name);
    isRemoved = true;
    return left;
  };
  if ((await pollCluster(look, (left) => left === undefined, removedWithinMs, work)) === undefined) return;
  throw new PlatformError(`the pod ${name} of an earlier run was not removed within ${removedWithinMs} ms`, true);
}

async function waitForEnd(name: string, withinMs: number, work: ClusterWork): Promise<string> {
  const { cluster } = work;
  const found = await pollCluster(
    () => findPod(cluster, name),
    (pod) => pod === undefined || isOver(pod),
    withinMs,
    work,
  );
  if (found === undefined) throw new PlatformError(`the pod ${name} was removed before it finished`, false);
  if (!isOver(found)) {
    throw new PlatformError(
      `${name} did not finish within ${withinMs} ms, and was removed${explainWait(found)}`,
      false,
    );
  }
  const printed = await cluster.readLogs(name);
  if (found.status.phase === "Succeeded") return printed;
  const status = found.status.containerStatuses[0]?.state.terminated?.exitCode ?? "unknown";
  throw new PlatformError(explainJobEnd(name, { status, printed, program: workspaceProgram }), false);
}

function isOver({ status }: Pod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

function explainWait({ status }: Pod): string {
  const unscheduled = status.conditions.find((found) => found.type === "PodScheduled" && found.status === "False");
  const waiting = status.containerStatuses[0]?.state.waiting;
  const reasons = [waiting?.reason, waiting?.message].filter((word) => word !== undefined);
  const why = unscheduled?.message ?? reasons.join(": ");
  return why === "" ? "" : ` (${why})`;
}

/** Builds a pod for namespaces with the Pod Security Standard `restricted`; it runs as the owner of the node's files. Pure. */
function buildWorkSpec(
  { prefix, toolImage, id }: WorkLocation,
  { action, withinMs }: Work,
  { uid, gid }: Readonly<{ uid: number; gid: number }>,
) {
  const nodePods = { "app.kubernetes.io/instance": prefix, "app.kubernetes.io/component": "node" };
  // While the node runs, its claim may be accessible only on the machine that the node's pods run on.
  const onNodeOfPods = { labelSelector: { matchLabels: nodePods }, topologyKey: "kubernetes.io/hostname" };
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [onNodeOfPods] } };
  const isRestore = action === "restore" && id !== undefined;
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
    ...(action === "look" ? { affinity } : {}),
    containers: [
      {
        name: "work",
        image: toolImage,
        command: ["node", workspaceProgram, action, volumeLocation, ...(isRestore ? [id, sourceLocation] : [])],
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "0.05", memory: "128Mi" } },
        volumeMounts: [
          { name: "volume", mountPath: volumeLocation },
          ...(isRestore ? [{ name: "source", mountPath: sourceLocation, readOnly: true }] : []),
        ],
      },
    ],
    volumes: [
      { name: "volume", persistentVolumeClaim: { claimName: names.claim } },
      ...(isRestore ? [{ name: "source", persistentVolumeClaim: { claimName: nameCopy({ id }) } }] : []),
    ],
  };
}
