import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import type { BuiltService } from "../services/built-service.ts";
import { withoutProblems, type Placed } from "./service.ts";

/** A node, the sidecar next to it, and what brings and keeps its data, where something does. */
export type NodeServices = Readonly<{
  node: BuiltService;
  sidecar: BuiltService;
  restore?: BuiltService | undefined;
  /** What takes snapshots of the node's volume, and when: a cron expression. */
  snapshots?: Readonly<{ service: BuiltService; schedule: string }> | undefined;
}>;

/**
 * A node and the sidecar that keeps it right and guards its RPC.
 *
 * @example
 * import { Node, nodeSpec, sidecarSpec } from "gatehouse-evm/pulumi";
 *
 * // `args` are those of stackArgs().
 * new Node("node", { node: nodeSpec(args.node), sidecar: sidecarSpec(args.sidecar), platform });
 */
export class Node extends ComponentResource {
  /** What has to be up before another service can use the node. */
  readonly ready: Resource;

  /** @throws {ConfigError} when the node or its sidecar would refuse its settings. */
  constructor(
    name: string,
    { node, sidecar, restore, snapshots, platform, after = [] }: NodeServices & Placed,
    opts?: ComponentResourceOptions,
  ) {
    super("gatehouse:index:Node", name, {}, opts);
    withoutProblems({ node, sidecar, restore, snapshots: snapshots?.service });
    this.ready = platform.deployNode(
      {
        node: node.spec,
        sidecar: sidecar.spec,
        restore: restore?.spec,
        snapshots: snapshots && { spec: snapshots.service.spec, schedule: snapshots.schedule },
      },
      { parent: this, dependsOn: after },
    );
    this.registerOutputs({});
  }
}
