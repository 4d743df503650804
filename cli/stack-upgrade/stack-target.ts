import { z } from "zod";

/** Engine or cluster of a stack, and the addresses there. */
export const stackTarget = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("docker"),
    /** Address of the engine. */
    engine: z.string(),
    /** The sidecar's status listener, and the node's RPC through the gateway. */
    statusUrl: z.string(),
    rpcUrl: z.string(),
  }),
  z.object({
    kind: z.literal("kubernetes"),
    /** Kubeconfig context; absent if there is none, e.g. in a pod with its own service account. */
    context: z.string().optional(),
    namespace: z.string(),
    /** VolumeSnapshotClass that the stack specifies; absent: the cluster's default. */
    snapshotClass: z.string().optional(),
  }),
]);

/** Rejection of `--url` for a stack on Kubernetes. */
export const urlOnKubernetes =
  "--url is for stacks on Docker: on Kubernetes the sidecar is queried in its pod, through kubectl.";

export type StackTarget = Readonly<z.output<typeof stackTarget>>;
export type DockerTarget = Extract<StackTarget, { kind: "docker" }>;
export type KubernetesTarget = Extract<StackTarget, { kind: "kubernetes" }>;
