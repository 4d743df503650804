import { volumeSnapshotSettings } from "#sidecar/volume-snapshot/settings.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { buildService, readCommonArgs, type BuiltService } from "./built-service.ts";
import { workspace } from "./node/node-layout.ts";

/** Builds the service that takes one snapshot and exits. It connects only to the API server. */
export function buildVolumeSnapshotSpec(config: StackConfig): BuiltService | undefined {
  if (config.volumeSnapshots === undefined) return undefined;
  const { className, keep } = config.volumeSnapshots;
  return buildService(
    {
      name: "volume-snapshot",
      image: "gatehouse",
      definition: volumeSnapshotSettings,
      tree: { claim: workspace.name, className, keep },
      ports: [],
      volumes: [],
      edges: [{ to: "api" }],
      health: undefined,
      limits: { cpus: 0.5, memoryMebibytes: 256 },
      stopGraceSeconds: 30,
    },
    readCommonArgs(config, "volume-snapshot"),
  );
}
