import type { Input } from "@pulumi/pulumi";
import type { StackConfig } from "../config/config-schema.ts";
import type { NodeScheduling } from "../config/kubernetes-keys.ts";
import type { Observability } from "../config/observability-keys.ts";
import type { GatewayExposure, IngressExposure } from "../config/exposure.ts";
import type { ImageName } from "../services/service-spec.ts";

/** How the node's peers reach the node from outside the cluster. */
type PeerExposure = "none" | "node-port" | "load-balancer" | "host-port";

/** Names, images and options of a target namespace. */
export type KubernetesOptions = Readonly<{
  /** Value of the `app.kubernetes.io/instance` label, e.g. `gatehouse-prod`. */
  prefix: string;
  namespace: string;
  /** Whether the namespace already exists and is shared; by default, the stack creates it. */
  isNamespaceThere?: boolean;
  /** Whether the objects are rendered as YAML for another tool to apply. */
  rendered: boolean;
  /** Whether `up` waits for pods to become ready; default: yes. */
  awaitsPods?: boolean;
  images: Readonly<Partial<Record<ImageName, Input<string>>>>;
  /** Secrets for pulling images; default: none. */
  imagePullSecrets?: readonly string[];
  /** Scheduling for the node's pod; if absent, the cluster's default applies. */
  nodeScheduling?: NodeScheduling | undefined;
  storageClass: string | undefined;
  /** Initial size of the node's volume. */
  nodeVolumeGibibytes: number;
  /** Whether the sidecar grows the node's volume. */
  volumeGrows: boolean;
  restartStrategy: "delete-pod" | "signal";
  peers: PeerExposure;
  /** Class and annotations of the load balancer for the node's peers. */
  peerLoadBalancer?: StackConfig["peerLoadBalancer"];
  /** Addresses of the API server as pods' packets see them; if undefined, its ports on any host. */
  apiServerCidr: string | undefined;
  /** Public access through one of the two kinds of object; neither is set if the stack is not public. */
  ingress: IngressExposure | undefined;
  gatewayApi: GatewayExposure | undefined;
  /** Monitoring for the stack; undefined if no Prometheus scrapes it. */
  observability: Observability | undefined;
  /** Secret key for file checksums, so that a pod's annotation can't be used to guess a secret. */
  revisionKey: Input<string>;
}>;

/** Returns the reference of an image. @throws {Error} if the stack has no such image, which the configuration check rules out. */
export function findImage(options: KubernetesOptions, name: ImageName): Input<string> {
  const image = options.images[name];
  if (image === undefined) throw new Error(`this namespace was given no image named ${name}`);
  return image;
}
