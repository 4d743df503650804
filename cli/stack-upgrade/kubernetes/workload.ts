import { z } from "zod";
import type { Clock } from "#daemon/clock.ts";
import { waitUntil, type Pause } from "#daemon/time.ts";
import { PlatformError } from "../stack-platform.ts";
import type { Cluster } from "./kubectl.ts";
import { names } from "./kubernetes-names.ts";

const labels = z.record(z.string(), z.string()).default({});

const container = z.object({
  name: z.string(),
  image: z.string(),
  securityContext: z.object({ runAsUser: z.number().optional(), runAsGroup: z.number().optional() }).optional(),
  volumeMounts: z.array(z.object({ name: z.string(), subPath: z.string().optional() })).default([]),
});

const workloadSchema = z.object({
  metadata: z.object({
    uid: z.string(),
    /** Increases with every change to the specification, also of the number of pods, even one that is later reverted. */
    generation: z.number(),
    labels,
    managedFields: z.array(z.object({ manager: z.string().optional() })).default([]),
  }),
  spec: z.object({
    replicas: z.number().default(1),
    template: z.object({
      spec: z.object({
        containers: z.array(container),
        initContainers: z.array(container).default([]),
        terminationGracePeriodSeconds: z.number().default(30),
      }),
    }),
  }),
});

/** StatefulSet fields of the node that an upgrade reads (Kubernetes API, apps/v1). */
export type Workload = Readonly<z.output<typeof workloadSchema>>;

const containerStatus = z.object({
  name: z.string(),
  state: z
    .object({
      running: z.object({}).optional(),
      waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional(),
      terminated: z.object({ exitCode: z.number(), reason: z.string().optional() }).optional(),
    })
    .default({}),
});

const podStatus = z.object({
  phase: z.string().optional(),
  conditions: z.array(z.object({ type: z.string(), status: z.string(), message: z.string().optional() })).default([]),
  containerStatuses: z.array(containerStatus).default([]),
  initContainerStatuses: z.array(containerStatus).default([]),
});

const podSchema = z.object({
  metadata: z.object({
    uid: z.string(),
    labels,
    deletionTimestamp: z.string().optional(),
    /** Remaining grace period in seconds; 0 once the pod's machine has stopped the pod and unmounted its volumes. */
    deletionGracePeriodSeconds: z.number().optional(),
    finalizers: z.array(z.string()).default([]),
  }),
  spec: z.object({ containers: z.array(container) }),
  status: podStatus.prefault({}),
});

/** Pod fields that an upgrade reads (Kubernetes API, v1). */
export type Pod = Readonly<z.output<typeof podSchema>>;

export function findWorkload(cluster: Cluster): Promise<Workload | undefined> {
  return cluster.find(workloadSchema, "statefulset", names.workload);
}

export function findPod(cluster: Cluster, name: string = names.pod): Promise<Pod | undefined> {
  return cluster.find(podSchema, "pod", name);
}

/** @throws {PlatformError} if there is none. */
export async function requireWorkload(cluster: Cluster): Promise<Workload> {
  const found = await findWorkload(cluster);
  if (found !== undefined) return found;
  throw new PlatformError(`the cluster has no StatefulSet ${names.workload}; run pulumi up to create it`, false);
}

export function findNodeContainer(spec: Pod["spec"]) {
  return spec.containers.find(({ name }) => name === names.node);
}

export function findNodeUser({ spec }: Workload) {
  const { runAsUser: uid, runAsGroup: gid } = findNodeContainer(spec.template.spec)?.securityContext ?? {};
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

export type ClusterWork = Readonly<{ cluster: Cluster; clock: Clock; pause: Pause }>;

/** Polls the cluster until `isRight` or the time limit; returns the last state either way. */
export function pollCluster<T>(
  check: () => Promise<T>,
  isRight: (found: T) => boolean,
  withinMs: number,
  { clock, pause }: Omit<ClusterWork, "cluster">,
): Promise<T> {
  return waitUntil(check, isRight, { everyMs: 2_000, withinMs }, { ...clock, pause });
}
