import type { ComponentResource, Input, ProviderResource, Resource } from "@pulumi/pulumi";
import type { ServiceSpec } from "./services/service-spec.ts";
import type { TargetContext } from "./services/stack-context.ts";

export type Attachment = Readonly<{ parent: ComponentResource; dependsOn: readonly Input<Resource>[] }>;

/** Component that owns all of a stack's resources, if the program doesn't own them itself. */
export type Scope = Readonly<{
  parent: ComponentResource;
  /** The provider for the target, if the component was given one; if undefined, the stack creates one. */
  provider: ProviderResource | undefined;
}>;

/** A node, its sidecar, and the optional services that restore its chain data before it first starts and take snapshots of the data. */
export type NodeSpecs = Readonly<{
  node: ServiceSpec;
  sidecar: ServiceSpec;
  restore?: ServiceSpec | undefined;
  /** Service that takes snapshots of the node's volume, and its schedule; only for targets with volume snapshots. */
  snapshots?: Readonly<{ spec: ServiceSpec; schedule: string }> | undefined;
}>;

/** A deployment target: one Docker host, or one namespace in a Kubernetes cluster. */
export type Platform = TargetContext &
  Readonly<{
    /** Allows only the connections between services that are listed in their specifications. */
    allowEdges(specs: readonly ServiceSpec[]): void;
    /** Registers the services with the target's existing monitoring, if the stack uses it. */
    registerMonitoring(specs: readonly ServiceSpec[]): void;
    /** Deploys a service and returns the resource on which its dependents depend. */
    deploy(spec: ServiceSpec, attachment: Attachment): Resource;
    /** Deploys a node together with the sidecar that reconciles it. */
    deployNode(specs: NodeSpecs, attachment: Attachment): Resource;
  }>;
