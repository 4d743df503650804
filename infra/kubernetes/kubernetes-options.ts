import type { Input } from "@pulumi/pulumi";
import type { StackConfig } from "../config/config-schema.ts";
import type { ImageName } from "../services/service-spec.ts";

/** Names, images and options of a target namespace; keys that a stack's configuration also has mean the same in both. */
export type KubernetesOptions = Pick<
  StackConfig,
  | "namespace"
  | "nodeScheduling"
  | "storageClass"
  | "nodeVolumeGibibytes"
  | "volumeGrowth"
  | "nodeRestart"
  | "peers"
  | "peerLoadBalancer"
  | "apiServerCidr"
  | "ingress"
  | "gatewayApi"
  | "observability"
> &
  Partial<Pick<StackConfig, "createNamespace" | "imagePullSecrets">> &
  Readonly<{
    /** Value of the `app.kubernetes.io/instance` label, e.g. `gatehouse-prod`. */
    prefix: string;
    /** Whether the objects are rendered as YAML for another tool to apply. */
    rendered: boolean;
    /** Whether `up` waits for pods to become ready; default: yes. */
    awaitsPods?: boolean;
    images: Readonly<Partial<Record<ImageName, Input<string>>>>;
    /** Secret key for file checksums, so that a pod's annotation can't be used to guess a secret. */
    revisionKey: Input<string>;
  }>;

/** Returns the reference of an image. @throws {Error} if the stack has no such image, which the configuration check rules out. */
export function findImage(options: KubernetesOptions, name: ImageName): Input<string> {
  const image = options.images[name];
  if (image === undefined) throw new Error(`this namespace was given no image named ${name}`);
  return image;
}
