import { z } from "zod";

/** Engine or cluster of a stack, and the addresses there. */
export const stackTarget = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("docker"),
    /** The engine's address. */
    engine: z.string(),
    /** The sidecar's status listener, and the node's RPC through the gateway. */
    statusUrl: z.string(),
    rpcUrl: z.string(),
  }),
  z.object({
    kind: z.literal("kubernetes"),
    /** Context of the kubeconfig; absent if there is none, as in a pod with its own account. */
    context: z.string().optional(),
    namespace: z.string(),
    /** VolumeSnapshotClass that the stack names; absent: the cluster's. */
    snapshotClass: z.string().optional(),
  }),
]);

/** Refusal of `--url` for a stack on Kubernetes. */
export const urlOnKubernetes =
  "--url is for stacks on Docker: on Kubernetes the sidecar is queried in its pod, through kubectl.";

export type StackTarget = Readonly<z.output<typeof stackTarget>>;
export type DockerTarget = Extract<StackTarget, { kind: "docker" }>;
export type KubernetesTarget = Extract<StackTarget, { kind: "kubernetes" }>;
