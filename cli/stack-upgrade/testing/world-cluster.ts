import { z } from "zod";
import type { Cluster, ClusterKind, ClusterObject, ClusterPatch } from "../kubernetes/kubectl.ts";
import { PlatformError } from "../stack-platform.ts";
import { podFinalizer, upgradeLabel } from "../kubernetes/kubernetes-names.ts";
import { findObject, checkClaim } from "./world-objects.ts";
import { names, startContainer, stopContainer, torn, type WorldParts } from "./world-state.ts";
import type { TaskStep } from "./world-time.ts";

/** Time in ms that a node takes to exit. */
const endMs = 50;

export function scaleWorld(parts: WorldParts, replicas: number): void {
  const { cluster } = parts.state;
  if (cluster.replicas === replicas) return;
  cluster.replicas = replicas;
  cluster.generation += 1;
  syncPods(parts);
}

export function deployWorld(parts: WorldParts, image: string): void {
  const { cluster } = parts.state;
  cluster.template = image;
  cluster.replicas = 1;
  cluster.generation += 1;
  syncPods(parts);
}

/** Stops the node's pod and removes it, unless a finalizer keeps it. */
export function endPod({ state }: WorldParts): void {
  const { cluster } = state;
  if (cluster.pod === undefined) return;
  for (const name of [names.node, names.sidecar]) stopContainer(state, name);
  if (cluster.isStubborn) state.live = [...state.live, torn];
  const ended = cluster.isStubborn ? "killed" : "by itself";
  cluster.pod = cluster.pod.held ? { ...cluster.pod, ended } : undefined;
}

/** Acts as the cluster's controllers: one pod of the template's image, or none. */
function syncPods(parts: WorldParts): void {
  const { state, time } = parts;
  const { cluster } = state;
  const { pod } = cluster;
  if (pod === undefined) {
    if (cluster.replicas === 0) return;
    cluster.pods += 1;
    cluster.isFlushed = false;
    const uid = `pod ${cluster.pods}`;
    cluster.pod = { uid, image: cluster.template, held: false, deleting: false, ended: undefined };
    startContainer(parts, names.sidecar, "gatehouse:1");
    startContainer(parts, names.node, cluster.template);
    return;
  }
  if (pod.deleting || (cluster.replicas === 1 && pod.image === cluster.template)) return;
  cluster.pod = { ...pod, deleting: true };
  const effect = () => {
    if (cluster.pod?.uid !== pod.uid || cluster.pod.ended !== undefined) return;
    endPod(parts);
    syncPods(parts);
  };
  time.begin([{ afterMs: endMs, effect }]);
}

export function createWorldCluster(parts: WorldParts): Cluster {
  const { state, kills } = parts;
  const { cluster } = state;
  return {
    find: async (shape, kind, name) => {
      const found = findObject(parts, kind, name);
      return found === undefined ? undefined : shape.parse(found);
    },
    list: async (shape) => (cluster.snapshot === undefined ? [] : [shape.parse(cluster.snapshot.object)]),
    serves: async () => cluster.servesSnapshots,
    findMissingPermissions: async (rights) =>
      rights.filter((right) => cluster.forbidden.some((resource) => right.split(" ")[1] === resource)),
    create: (object) => kills.change(() => createObject(parts, object)),
    patch: (kind, _, patch) => kills.change(() => void updateObject(parts, kind, patch)),
    remove: (kind, name) => kills.change(() => removeObject(parts, kind, name)),
    readLogs: async (name) => state.jobs.get(name)?.task.failure() ?? "",
    exec: async () => JSON.stringify(checkClaim),
  };
}

const jobSchema = z.object({ containers: z.array(z.object({ command: z.array(z.string()) })) });

function createObject(parts: WorldParts, object: ClusterObject): boolean {
  const { state } = parts;
  const { cluster } = state;
  if (object.kind === "VolumeSnapshot") {
    if (cluster.snapshot !== undefined) return false;
    cluster.snapshot = { object, task: parts.time.begin(listSnapshotSteps(parts)) };
    return true;
  }
  if (object.kind === "PersistentVolumeClaim") {
    const isNew = !cluster.hasCopyClaim;
    cluster.hasCopyClaim = true;
    return isNew;
  }
  const name = object.metadata?.name ?? "";
  if (state.jobs.has(name)) return false;
  const action = jobSchema.parse(object.spec).containers[0]?.command[2] ?? "";
  state.begun.push(action);
  const owner = object.metadata?.labels?.[upgradeLabel] ?? "";
  state.jobs.set(name, { owner, action, task: parts.time.begin(listJobSteps(parts, action)) });
  return true;
}

function updateObject(parts: WorldParts, kind: ClusterKind, patch: ClusterPatch): boolean {
  const { cluster } = parts.state;
  if (kind === "pod") {
    if (cluster.pod === undefined) return false;
    const held = JSON.stringify(patch.change).includes(podFinalizer);
    const { pod } = cluster;
    cluster.pod = pod.ended !== undefined && !held ? undefined : { ...pod, held };
    syncPods(parts);
    return true;
  }
  if (patch.type === "json") {
    cluster.isOwned = false;
    return true;
  }
  const { spec } = z.object({ spec: z.object({ replicas: z.number() }) }).parse(patch.change);
  cluster.isOwned = true;
  scaleWorld(parts, spec.replicas);
  return true;
}

function removeObject({ state }: WorldParts, kind: ClusterKind, name: string): void {
  const { cluster } = state;
  if (kind === "pod") {
    state.jobs.get(name)?.task.end();
    state.jobs.delete(name);
    return;
  }
  if (state.isRemoveBroken) throw new PlatformError(`kubectl delete ${kind} failed: Forbidden`, false);
  if (kind === "persistentvolumeclaim") cluster.hasCopyClaim = false;
  if (kind !== "volumesnapshot") return;
  cluster.snapshot?.task.end();
  cluster.snapshot = undefined;
  state.copy = undefined;
}

/** Lists the steps of a snapshot. The snapshot is torn if the volume is written to during these steps, or if the volume's machine has not flushed it yet. */
function listSnapshotSteps({ state, meet }: WorldParts): readonly TaskStep[] {
  const [livePrograms, pods] = [state.live, state.cluster.pods];
  const wasIdle = state.cluster.pod === undefined && state.cluster.isFlushed;
  return [
    { afterMs: 0.5 * state.copyMs, effect: () => meet("copy") },
    {
      afterMs: state.copyMs,
      effect: () => {
        state.copy = wasIdle && pods === state.cluster.pods ? livePrograms : [...livePrograms, torn];
      },
    },
  ];
}

/** Lists the steps of a pod's work on the claim, like workspace-copy.ts. */
function listJobSteps({ state, meet }: WorldParts, action: string): readonly TaskStep[] {
  const { cluster } = state;
  const at = (part: number, effect: () => void) => ({ afterMs: part * state.copyMs, effect });
  if (action === "flush") return [at(0.1, () => (cluster.isFlushed = true))];
  return [
    at(0, () => {
      if (state.copy === undefined || !cluster.hasCopyClaim) throw new Error("the snapshot contains no node data");
      state.live = [];
    }),
    at(0.5, () => meet("restore")),
    at(1, () => {
      const isAlone = state.live.length === 0 && cluster.pod === undefined;
      state.live = [...(state.copy ?? []), ...(isAlone ? [] : [torn])];
    }),
  ];
}
