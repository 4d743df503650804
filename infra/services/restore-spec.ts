import { restoreSettings } from "#sidecar/restore/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { chainDataDirectory, workspace } from "./node/node-layout.ts";
import { chooseNodeUser } from "./service-spec.ts";

/** A snapshot from which chain data is restored before a node's first start. */
export type RestoreArgs = CommonArgs &
  Readonly<{
    url: string;
    /** SHA-256 of the archive, in hex. */
    sha256: string;
    /** Number of leading path components to strip from the archive's paths. */
    strip: number;
    /** User in the node's own image, who owns the unpacked files. */
    imageUser: number | undefined;
  }>;

/** Timeout of a restore; downloading chain data can take hours. */
export const restoreTimeout = "24h";

/** Builds the restore, which completes before the node starts, and does nothing if data exists. */
export function restoreSpec(args: RestoreArgs): BuiltService {
  return buildService(
    {
      name: "restore",
      image: "gatehouse",
      definition: restoreSettings,
      tree: { archive: { url: args.url, sha256: args.sha256, strip: args.strip }, dataPath: chainDataDirectory },
      ports: [],
      volumes: [workspace],
      edges: [{ to: "internet" }],
      health: undefined,
      limits: { cpus: 2, memoryMebibytes: 1_024 },
      stopGraceSeconds: 30,
      user: chooseNodeUser(args.imageUser),
    },
    args,
  );
}
