import { z } from "zod";
import type { StackRecord } from "../stack-record.ts";
import { explainJobEnd, volumeLocation, workspaceProgram } from "../workspace-report.ts";
import { ClusterError, type ClusterObject } from "./cluster.ts";
import { names, upgradeLabel } from "./kubernetes-names.ts";
import { checkAgainMs, type ScaleDependencies } from "./scale-node.ts";
import { findNodeUser, requireWorkload } from "./workload.ts";
import { formatKubectlCommand } from "../stack-commands.ts";
import type { KubernetesTarget } from "../stack-target.ts";

/** A pod that works on the node's claim; `action` and `more` are its program's arguments before and after the claim's path. */
export type WorkPod = Readonly<{
  name: string;
  /** Id of the upgrade or check that owns the pod. */
  owner: string;
  action: string;
  more: readonly string[];
  /** Another claim to read, and its path in the pod. */
  source?: Readonly<{ claim: string; place: string }>;
  /** Whether to run on the machine that the node's pods run on: while the node runs, its claim may be accessible only there. */
  onNodeOfPods: boolean;
  withinMs: number;
}>;

export type WorkLocation = Readonly<{
  prefix: string;
  toolImage: string;
  user: Readonly<{ uid: number; gid: number }>;
}>;

const waiting = z.object({ reason: z.string().optional(), message: z.string().optional() });

const podShape = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()).default({}) }),
  status: z
    .object({
      phase: z.string().optional(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), message: z.string().optional() }))
        .default([]),
      containerStatuses: z
        .array(
          z.object({
            state: z
              .object({
                waiting: waiting.optional(),
                terminated: z.object({ exitCode: z.number() }).optional(),
              })
              .default({}),
          }),
        )
        .default([]),
    })
    .default({ conditions: [], containerStatuses: [] }),
});

type Pod = z.output<typeof podShape>;

const removedWithinMs = 120_000;
const graceSeconds = 10;

/** Mount path of the claim that data is copied from. */
export const sourceLocation = "/source";

/** Runs a program on the node's claim in a separate pod to completion, and removes the pod; returns the output. Only one pod per name runs at a time. */
export async function runWorkPod(
  record: Pick<StackRecord, "prefix" | "toolImage">,
  pod: WorkPod,
  dependencies: ScaleDependencies,
): Promise<string> {
  const { cluster } = dependencies;
  const user = findNodeUser(await requireWorkload(cluster));
  if (user === undefined) {
    throw new ClusterError(`the StatefulSet ${names.workload} does not say which user its node runs as`, false);
  }
  await makeWay(pod, dependencies);
  if (!(await cluster.create(buildWorkPod({ ...record, user }, pod)))) {
    throw new ClusterError(`the pod ${pod.name} was made by somebody else meanwhile`, true);
  }
  try {
    return await waitForEnd(pod, dependencies);
  } finally {
    await cluster.remove("pod", pod.name);
  }
}

/** Removes a pod with this name that a killed run left behind; the pod may still be working. */
async function makeWay({ name, owner }: WorkPod, { cluster, clock, pause }: ScaleDependencies): Promise<void> {
  const untilMs = clock.monotonicMs() + removedWithinMs;
  for (let isRemoved = false; ; isRemoved = true) {
    const left = await cluster.find(podShape, "pod", name);
    if (left === undefined) return;
    const theirs = left.metadata.labels[upgradeLabel];
    if (theirs !== owner && !isOver(left)) {
      throw new ClusterError(
        `${name} is at work for another upgrade (${theirs ?? "not named"}); wait for its end`,
        true,
      );
    }
    if (!isRemoved) await cluster.remove("pod", name);
    if (clock.monotonicMs() >= untilMs) {
      throw new ClusterError(`the pod ${name} of an earlier run is not gone within ${removedWithinMs} ms`, true);
    }
    await pause(checkAgainMs);
  }
}

async function waitForEnd({ name, withinMs }: WorkPod, { cluster, clock, pause }: ScaleDependencies): Promise<string> {
  const untilMs = clock.monotonicMs() + withinMs;
  for (;;) {
    const found = await cluster.find(podShape, "pod", name);
    if (found === undefined) throw new ClusterError(`the pod ${name} was removed before its end`, false);
    if (isOver(found)) {
      const printed = await cluster.readLogs(name);
      if (found.status.phase === "Succeeded") return printed;
      const status = found.status.containerStatuses[0]?.state.terminated?.exitCode ?? "unknown";
      throw new ClusterError(explainJobEnd(name, { status, printed, program: workspaceProgram }), false);
    }
    if (clock.monotonicMs() >= untilMs) {
      throw new ClusterError(`${name} did not end within ${withinMs} ms, and was ended${explainWait(found)}`, false);
    }
    await pause(checkAgainMs);
  }
}

function isOver({ status }: Pod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

function explainWait({ status }: Pod): string {
  const unplaced = status.conditions.find(({ type, status: is }) => type === "PodScheduled" && is === "False");
  const held = status.containerStatuses[0]?.state.waiting;
  const why = unplaced?.message ?? [held?.reason, held?.message].filter((word) => word !== undefined).join(": ");
  return why === "" ? "" : ` (${why})`;
}

/** Builds a pod for namespaces with the Pod Security Standard `restricted`; it runs as the owner of the node's files. Pure. */
export function buildWorkPod(place: WorkLocation, pod: WorkPod): ClusterObject {
  const { prefix } = place;
  const labels = {
    "app.kubernetes.io/name": "gatehouse",
    "app.kubernetes.io/instance": prefix,
    [upgradeLabel]: pod.owner,
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: pod.name, labels },
    spec: buildWorkSpec(place, pod),
  };
}

/** Builds the specification of a work pod. Pure. */
export function buildWorkSpec({ prefix, toolImage, user }: WorkLocation, pod: WorkPod) {
  const { source, onNodeOfPods, withinMs } = pod;
  const nodePods = { "app.kubernetes.io/instance": prefix, "app.kubernetes.io/component": "node" };
  return {
    restartPolicy: "Never",
    activeDeadlineSeconds: Math.ceil(withinMs / 1_000),
    terminationGracePeriodSeconds: graceSeconds,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user.uid,
      runAsGroup: user.gid,
      fsGroup: user.gid,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    },
    ...(onNodeOfPods ? { affinity: { podAffinity: buildPodAffinity(nodePods) } } : {}),
    containers: [
      {
        name: "work",
        image: toolImage,
        command: ["node", workspaceProgram, pod.action, volumeLocation, ...pod.more],
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "0.05", memory: "128Mi" } },
        volumeMounts: [
          { name: "volume", mountPath: volumeLocation },
          ...(source === undefined ? [] : [{ name: "source", mountPath: source.place, readOnly: true }]),
        ],
      },
    ],
    volumes: [
      { name: "volume", persistentVolumeClaim: { claimName: names.claim } },
      ...(source === undefined ? [] : [{ name: "source", persistentVolumeClaim: { claimName: source.claim } }]),
    ],
  };
}

function buildPodAffinity(matchLabels: Readonly<Record<string, string>>) {
  const term = { labelSelector: { matchLabels }, topologyKey: "kubernetes.io/hostname" };
  return { requiredDuringSchedulingIgnoredDuringExecution: [term] };
}

const withinMs = 600_000;

/** Formats the command that removes everything an upgrade left on the node's claim. Pure. */
export function formatDiscardCommand(target: KubernetesTarget, place: WorkLocation & Readonly<{ id: string }>): string {
  const name = `${names.job}-discard`;
  const { id } = place;
  const spec = buildWorkSpec(place, { name, owner: id, action: "discard", more: [id], onNodeOfPods: true, withinMs });
  const overrides = JSON.stringify({ apiVersion: "v1", spec });
  const options = ["--rm", "--attach", "--restart=Never", `--image=${place.toolImage}`, `--overrides=${overrides}`];
  return formatKubectlCommand(target, "run", name, ...options);
}
