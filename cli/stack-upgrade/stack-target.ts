import { z } from "zod";

/** Where a stack runs, and how it is reached there. */
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
    /** Of the kubeconfig; absent where there is none, as in a pod that has its own account. */
    context: z.string().optional(),
    namespace: z.string(),
    /** VolumeSnapshotClass that the stack names; absent: the cluster's. */
    snapshotClass: z.string().optional(),
  }),
]);

/** Why `--url` is refused of a stack on Kubernetes. */
export const urlOnKubernetes =
  "--url is for stacks on Docker: on Kubernetes the sidecar is queried in its pod, through kubectl.";

export type StackTarget = Readonly<z.output<typeof stackTarget>>;
export type DockerTarget = Extract<StackTarget, { kind: "docker" }>;
export type KubernetesTarget = Extract<StackTarget, { kind: "kubernetes" }>;
