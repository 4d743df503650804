import type { Input } from "@pulumi/pulumi";
import type { Observability } from "../config/observability-keys.ts";
import type { GatewayWay, IngressWay } from "../config/public-way.ts";
import type { ImageName } from "../services/service-spec.ts";

/** How the node's peers reach it from outside the cluster. */
type PeerExposure = "none" | "node-port" | "load-balancer" | "host-port";

/** How a namespace of a cluster is used. */
export type KubernetesOptions = Readonly<{
  /** Value of the label `app.kubernetes.io/instance`, e.g. `gatehouse-prod`. */
  prefix: string;
  namespace: string;
  images: Readonly<Partial<Record<ImageName, Input<string>>>>;
  storageClass: string | undefined;
  /** Size of the node's volume at the beginning. */
  nodeVolumeGibibytes: number;
  /** Whether the sidecar makes the node's volume grow. */
  volumeGrows: boolean;
  restartStrategy: "delete-pod" | "signal";
  peers: PeerExposure;
  /** Addresses of the API server, as a pod's packets have them; absent: its ports of any host. */
  apiServerCidr: string | undefined;
  /** The public way in, by one of the two kinds of object; neither where the stack is not public. */
  ingress: IngressWay | undefined;
  gatewayApi: GatewayWay | undefined;
  /** How the stack is watched; absent where no Prometheus scrapes it. */
  observability: Observability | undefined;
  /** Secret; what the checksums of files are keyed with, so that no secret can be guessed from a pod's annotation. */
  revisionKey: Input<string>;
}>;

/** The reference of an image. @throws {Error} when the stack was given none, which the configuration's check rules out. */
export function findImage(options: KubernetesOptions, name: ImageName): Input<string> {
  const image = options.images[name];
  if (image === undefined) throw new Error(`this namespace was given no image named ${name}`);
  return image;
}
