import { restoreSettings } from "#sidecar/restore/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { chainDataDirectory, workspace } from "./node/node-layout.ts";
import { chooseNodeUser } from "./service-spec.ts";

/** A snapshot that chain data are restored from before a node's first start. */
export type RestoreArgs = CommonArgs &
  Readonly<{
    url: string;
    /** SHA-256 of the archive, hexadecimal. */
    sha256: string;
    /** Leading directories of the archive's paths that are left out. */
    strip: number;
    /** User that the node's own image runs as, who owns the unpacked files. */
    imageUser: number | undefined;
  }>;

/** Time that a target waits for a restore; a chain's data can take hours to download. */
export const restoreTimeout = "24h";

/** Builds the restore, which runs to its end before the node is started, and does nothing if there are data. */
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
