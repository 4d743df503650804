import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import type { BuiltService } from "../services/built-service.ts";
import { withoutProblems, type Placed } from "./service.ts";

/** A node, its sidecar, and the optional services that restore its data and take snapshots of it. */
export type NodeServices = Readonly<{
  node: BuiltService;
  sidecar: BuiltService;
  restore?: BuiltService | undefined;
  /** Service that snapshots the node's volume, and its schedule as a cron expression. */
  snapshots?: Readonly<{ service: BuiltService; schedule: string }> | undefined;
}>;

/**
 * A node and the sidecar that reconciles it and guards its RPC.
 *
 * @example
 * import { Node, nodeSpec, sidecarSpec } from "gatehouse-evm/pulumi";
 *
 * // `args` are those of stackArgs().
 * new Node("node", { node: nodeSpec(args.node), sidecar: sidecarSpec(args.sidecar), platform });
 */
export class Node extends ComponentResource {
  /** Resource that clients of the node depend on. */
  readonly ready: Resource;

  /**
   * @throws {ConfigError} if the node or its sidecar would reject its settings.
   */
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
