import type { Input } from "@pulumi/pulumi";
import type { StackConfig } from "../config/config-schema.ts";
import type { NodeScheduling } from "../config/kubernetes-keys.ts";
import type { Observability } from "../config/observability-keys.ts";
import type { GatewayWay, IngressWay } from "../config/public-way.ts";
import type { ImageName } from "../services/service-spec.ts";

/** Way by which the node's peers reach it from outside the cluster. */
type PeerExposure = "none" | "node-port" | "load-balancer" | "host-port";

/** Names, images and options of a namespace as a target. */
export type KubernetesOptions = Readonly<{
  /** Value of the label `app.kubernetes.io/instance`, e.g. `gatehouse-prod`. */
  prefix: string;
  namespace: string;
  /** Whether the namespace is there, and others' too; default: the stack makes it. */
  isNamespaceThere?: boolean;
  /** Whether the objects are written as YAML, for another one to apply. */
  rendered: boolean;
  /** Whether `up` waits for pods to become ready; default: yes. */
  awaitsPods?: boolean;
  images: Readonly<Partial<Record<ImageName, Input<string>>>>;
  /** Secrets with which images are pulled; default: none. */
  imagePullSecrets?: readonly string[];
  /** Scheduling of the node's pod; absent: the cluster's own. */
  nodeScheduling?: NodeScheduling | undefined;
  storageClass: string | undefined;
  /** Initial size of the node's volume. */
  nodeVolumeGibibytes: number;
  /** Whether the sidecar makes the node's volume grow. */
  volumeGrows: boolean;
  restartStrategy: "delete-pod" | "signal";
  peers: PeerExposure;
  /** Class and annotations of the peers' load balancer. */
  peerLoadBalancer?: StackConfig["peerLoadBalancer"];
  /** Addresses of the API server, as a pod's packets have them; undefined: its ports of any host. */
  apiServerCidr: string | undefined;
  /** The public way in, by one of the two kinds of object; neither if the stack is not public. */
  ingress: IngressWay | undefined;
  gatewayApi: GatewayWay | undefined;
  /** Monitoring of the stack; undefined if no Prometheus scrapes it. */
  observability: Observability | undefined;
  /** Secret key of the files' checksums, so that no secret can be guessed from a pod's annotation. */
  revisionKey: Input<string>;
}>;

/** Finds the reference of an image. @throws {Error} if the stack has none, which the configuration's check rules out. */
export function findImage(options: KubernetesOptions, name: ImageName): Input<string> {
  const image = options.images[name];
  if (image === undefined) throw new Error(`this namespace was given no image named ${name}`);
  return image;
}
