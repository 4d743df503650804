import { volumeSnapshotSettings } from "#sidecar/volume-snapshot/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { workspace } from "./node/node-layout.ts";

/** Snapshot schedule for a node's volume, and the number of snapshots to retain. */
export type VolumeSnapshotArgs = CommonArgs &
  Readonly<{
    /** Cron expression, in UTC. */
    schedule: string;
    keep: number;
    /** VolumeSnapshotClass; if undefined, the cluster's default. */
    className?: string | undefined;
  }>;

/** Builds the service that takes one snapshot and exits. It connects only to the API server. */
export function volumeSnapshotSpec(args: VolumeSnapshotArgs): BuiltService {
  return buildService(
    {
      name: "volume-snapshot",
      image: "gatehouse",
      definition: volumeSnapshotSettings,
      tree: { claim: workspace.name, className: args.className, keep: args.keep },
      ports: [],
      volumes: [],
      edges: [{ to: "api" }],
      health: undefined,
      limits: { cpus: 0.5, memoryMebibytes: 256 },
      stopGraceSeconds: 30,
    },
    args,
  );
}
