import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { nodeSpec, type NodeArgs } from "../services/node-spec.ts";
import { restoreSpec, type RestoreArgs } from "../services/restore-spec.ts";
import { volumeSnapshotSpec, type VolumeSnapshotArgs } from "../services/volume-snapshot-spec.ts";
import { sidecarSpec, type SidecarArgs } from "../services/sidecar-spec.ts";
import type { Placed } from "./component-options.ts";
import { withoutProblems } from "./refuse-problems.ts";

/** A node and the sidecar that keeps it right and guards its RPC. */
export class Node extends ComponentResource {
  /** What has to be up before another service can use the node. */
  readonly ready: Resource;

  /** @throws {ConfigError} when the node or its sidecar would refuse its settings. */
  constructor(
    name: string,
    args: Readonly<{
      node: NodeArgs;
      sidecar: SidecarArgs;
      restore?: RestoreArgs | undefined;
      volumeSnapshots?: VolumeSnapshotArgs | undefined;
    }> &
      Placed,
    opts?: ComponentResourceOptions,
  ) {
    super("gatehouse:index:Node", name, {}, opts);
    const { node, sidecar, restore, snapshot } = withoutProblems({
      node: nodeSpec(args.node),
      sidecar: sidecarSpec(args.sidecar),
      restore: args.restore && restoreSpec(args.restore),
      snapshot: args.volumeSnapshots && volumeSnapshotSpec(args.volumeSnapshots),
    });
    this.ready = args.platform.deployNode(
      {
        node: node.spec,
        sidecar: sidecar.spec,
        restore: restore?.spec,
        snapshots: snapshot && args.volumeSnapshots && { spec: snapshot.spec, schedule: args.volumeSnapshots.schedule },
      },
      { parent: this, dependsOn: args.after ?? [] },
    );
    this.registerOutputs({});
  }
}
