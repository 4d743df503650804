import { restoreSettings } from "#sidecar/restore/settings.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { buildService, readCommonArgs, type BuiltService } from "./built-service.ts";
import { findImageUser } from "./node/node-image.ts";
import { chainDataDirectory, workspace } from "./node/node-layout.ts";
import { chooseNodeUser } from "./service-spec.ts";

/** Timeout of a restore; downloading chain data can take hours. */
export const restoreTimeout = "24h";

/** Builds the restore, which completes before the node starts, and does nothing if data exists. */
export function buildRestoreSpec(config: StackConfig): BuiltService | undefined {
  if (config.restore === undefined) return undefined;
  const { url, sha256, strip } = config.restore;
  return buildService(
    {
      name: "restore",
      image: "gatehouse",
      definition: restoreSettings,
      tree: { archive: { url, sha256, strip }, dataPath: chainDataDirectory },
      ports: [],
      volumes: [workspace],
      edges: [{ to: "internet" }],
      health: undefined,
      limits: { cpus: 2, memoryMebibytes: 1_024 },
      stopGraceSeconds: 30,
      // Owner of the unpacked files.
      user: chooseNodeUser(findImageUser(config)),
    },
    readCommonArgs(config, "restore"),
  );
}
