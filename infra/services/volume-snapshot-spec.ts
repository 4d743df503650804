import { volumeSnapshotSettings } from "#sidecar/volume-snapshot/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { workspace } from "./node/node-layout.ts";

/** Schedule of the snapshots of a node's volume, and the number that is kept. */
export type VolumeSnapshotArgs = CommonArgs &
  Readonly<{
    /** Cron expression, in UTC. */
    schedule: string;
    keep: number;
    /** VolumeSnapshotClass; undefined leaves it to the cluster. */
    className?: string | undefined;
  }>;

/** Builds the service that takes one snapshot and ends; it contacts the API server alone. */
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
