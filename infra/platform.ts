import type { ComponentResource, Input, ProviderResource, Resource } from "@pulumi/pulumi";
import type { Addresses } from "./services/addresses.ts";
import type { ServiceSpec } from "./services/service-spec.ts";
import type { Published } from "./services/published.ts";
import type { RestartRoute } from "./services/sidecar-spec.ts";

/** Where the resources of a service hang, and what has to be there before them. */
export type Attachment = Readonly<{ parent: ComponentResource; dependsOn: readonly Input<Resource>[] }>;

/** The component that all of a stack's resources belong to, where they are not the program's own. */
export type Scope = Readonly<{
  parent: ComponentResource;
  /** The target's provider, where the component was given one; absent: one is made. */
  provider: ProviderResource | undefined;
}>;

/** A node, the sidecar that keeps it right, and what brings its chain data before the first start, where something does. */
export type NodeSpecs = Readonly<{
  node: ServiceSpec;
  sidecar: ServiceSpec;
  restore?: ServiceSpec | undefined;
  /** What takes snapshots of the node's volume, and when; where the target has such a thing. */
  snapshots?: Readonly<{ spec: ServiceSpec; schedule: string }> | undefined;
}>;

/** A target that services are deployed to: one Docker host, or one namespace of a Kubernetes cluster. */
export type Platform = Readonly<{
  addresses: Addresses;
  /** How people on the host reach the services, where a host publishes them. */
  published?: Published | undefined;
  /** How the sidecar restarts the node here. */
  restart: RestartRoute;
  /** Lets the services reach each other as their specifications say, and nothing else reach them. */
  allowEdges(specs: readonly ServiceSpec[]): void;
  /** Shows the services to whoever watches here, where the stack is to fit into such a place. */
  announce(specs: readonly ServiceSpec[]): void;
  /** Deploys a service; what depends on it depends on what is returned. */
  deploy(spec: ServiceSpec, attachment: Attachment): Resource;
  /** Deploys a node with the sidecar that keeps it right. */
  deployNode(specs: NodeSpecs, attachment: Attachment): Resource;
}>;
