import { z } from "zod";
import { ClusterError, type Cluster } from "./cluster.ts";
import { names } from "./kubernetes-names.ts";

const securityContext = z.object({ runAsUser: z.number().optional(), runAsGroup: z.number().optional() });

const container = z.object({
  name: z.string(),
  image: z.string(),
  securityContext: securityContext.optional(),
  volumeMounts: z.array(z.object({ name: z.string(), subPath: z.string().optional() })).default([]),
});

const workloadShape = z.object({
  metadata: z.object({
    uid: z.string(),
    /** Increases with every change to the specification, even one that is later reverted. */
    generation: z.number(),
    labels: z.record(z.string(), z.string()).default({}),
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
export type Workload = Readonly<z.output<typeof workloadShape>>;

const containerStatus = z.object({
  name: z.string(),
  state: z
    .object({
      running: z.object({}).optional(),
      terminated: z.object({ exitCode: z.number(), reason: z.string().optional() }).optional(),
    })
    .default({}),
});

const podShape = z.object({
  metadata: z.object({
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
    /** Remaining grace period in seconds; 0 once the pod's machine has stopped the pod and unmounted its volumes. */
    deletionGracePeriodSeconds: z.number().optional(),
    finalizers: z.array(z.string()).default([]),
  }),
  spec: z.object({ containers: z.array(container) }),
  status: z
    .object({
      phase: z.string().optional(),
      containerStatuses: z.array(containerStatus).default([]),
      initContainerStatuses: z.array(containerStatus).default([]),
    })
    .default({ containerStatuses: [], initContainerStatuses: [] }),
});

/** Pod fields of the node that an upgrade reads (Kubernetes API, v1). */
export type NodePod = Readonly<z.output<typeof podShape>>;

/** Finds the node's StatefulSet; undefined if there is none. */
export function findWorkload(cluster: Cluster): Promise<Workload | undefined> {
  return cluster.find(workloadShape, "statefulset", names.workload);
}

/** Finds the node's pod; undefined if there is none. */
export function findNodePod(cluster: Cluster): Promise<NodePod | undefined> {
  return cluster.find(podShape, "pod", names.pod);
}

/** @throws {ClusterError} if there is none. */
export async function requireWorkload(cluster: Cluster): Promise<Workload> {
  const found = await findWorkload(cluster);
  if (found !== undefined) return found;
  throw new ClusterError(`the cluster has no StatefulSet ${names.workload}`, false);
}

/** Identifies the state of the StatefulSet; if it differs later, the node may have been started in between. Pure. */
export function identifyState({ metadata: { uid, generation } }: Workload): string {
  return `${uid} ${generation}`;
}

/** Finds the image of the node's container; undefined if there is no such container. Pure. */
export function findNodeImage(containers: Workload["spec"]["template"]["spec"]["containers"]): string | undefined {
  return containers.find(({ name }) => name === names.node)?.image;
}

/** Finds the user that runs the node and owns its files. Pure. */
export function findNodeUser({ spec }: Workload): Readonly<{ uid: number; gid: number }> | undefined {
  const found = spec.template.spec.containers.find(({ name }) => name === names.node)?.securityContext;
  if (found?.runAsUser === undefined || found.runAsGroup === undefined) return undefined;
  return { uid: found.runAsUser, gid: found.runAsGroup };
}
