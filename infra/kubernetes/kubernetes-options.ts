import type { Input } from "@pulumi/pulumi";
import type { ImageName } from "../spec/service-spec.ts";

/** How the node's peers reach it from outside the cluster. */
type PeerExposure = "none" | "node-port" | "load-balancer" | "host-port";

/** How a namespace of a cluster is used. */
export type KubernetesOptions = Readonly<{
  /** Value of the label `app.kubernetes.io/instance`, e.g. `gatehouse-prod`. */
  prefix: string;
  namespace: string;
  images: Readonly<Partial<Record<ImageName, Input<string>>>>;
  storageClass: string | undefined;
  restartStrategy: "delete-pod" | "signal";
  peers: PeerExposure;
  /** A `node.conf` for the node's first start; the sidecar keeps it right from then on. */
  nodeConf: string;
  ingress: IngressOptions | undefined;
}>;

/** The public way in. */
export type IngressOptions = Readonly<{
  className?: string | undefined;
  /** Namespace of the ingress controller's pods: the only pods from outside that reach the gateway and the resource server. */
  controllerNamespace: string;
  gatewayHost: string;
  resourceServerHost: string;
  /** Secret with the certificate of both hosts. */
  tlsSecret: string;
  annotations: Readonly<Record<string, string>>;
}>;
