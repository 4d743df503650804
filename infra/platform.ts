import type { ComponentResource, Input, ProviderResource, Resource } from "@pulumi/pulumi";
import type { Addresses } from "./services/addresses.ts";
import type { ServiceSpec } from "./services/service-spec.ts";
import type { Published } from "./services/published.ts";
import type { RestartRoute } from "./services/sidecar-spec.ts";

/** Parent of a service's resources, and the resources that have to be there before them. */
export type Attachment = Readonly<{ parent: ComponentResource; dependsOn: readonly Input<Resource>[] }>;

/** Component that all of a stack's resources belong to, if they are not the program's own. */
export type Scope = Readonly<{
  parent: ComponentResource;
  /** The target's provider, if the component was given one; undefined: one is made. */
  provider: ProviderResource | undefined;
}>;

/** A node, its sidecar, and the services that restore its chain data before the first start and snapshot it, if any. */
export type NodeSpecs = Readonly<{
  node: ServiceSpec;
  sidecar: ServiceSpec;
  restore?: ServiceSpec | undefined;
  /** Service that takes snapshots of the node's volume, and its schedule; for targets with volume snapshots only. */
  snapshots?: Readonly<{ spec: ServiceSpec; schedule: string }> | undefined;
}>;

/** A target that services are deployed to: one Docker host, or one namespace of a Kubernetes cluster. */
export type Platform = Readonly<{
  addresses: Addresses;
  /** Published services as people on the host reach them; absent if the target publishes none. */
  published?: Published | undefined;
  /** Way in which the sidecar restarts the node here. */
  restart: RestartRoute;
  /** Lets the services reach each other as their specifications say, and nothing else reach them. */
  allowEdges(specs: readonly ServiceSpec[]): void;
  /** Shows the services to the target's monitoring, if the stack is to fit into one. */
  announce(specs: readonly ServiceSpec[]): void;
  /** Deploys a service; what depends on it depends on what is returned. */
  deploy(spec: ServiceSpec, attachment: Attachment): Resource;
  /** Deploys a node with the sidecar that keeps it right. */
  deployNode(specs: NodeSpecs, attachment: Attachment): Resource;
}>;
