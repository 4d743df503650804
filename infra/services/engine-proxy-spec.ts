import { engineProxySettings } from "#engine-proxy/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import type { EntryPointLocations } from "./service-spec.ts";
import { engineSocketDirectory, engineSocketPath, engineSocketVolume } from "./sidecar-spec.ts";

export type EngineProxyArgs = CommonArgs &
  Readonly<{
    /** The only container in which the proxy's client may run `node_cli`, and the only one that it may inspect and restart. */
    container: string;
    /** The only directory in that container from which `node_cli` may be run; defaults to the directory in v0.11 and later. */
    binDirectory: string | undefined;
    /** The node's command-line tool, and the configuration file that may be passed to it; defaults to the specification's. */
    cli?: EntryPointLocations["cli"] | undefined;
  }>;

export const enginePathInProxy = "/run/docker.sock";

/** Builds the engine proxy: no network, exclusive access to the engine's socket, its own socket on a shared volume. */
export function buildEngineProxySpec(args: EngineProxyArgs): BuiltService {
  return buildService(
    {
      name: "engine-proxy",
      image: "gatehouse",
      definition: engineProxySettings,
      tree: {
        engine: `unix://${enginePathInProxy}`,
        container: args.container,
        binDirectory: args.binDirectory,
        nodeCli: args.cli?.tool,
        configArgument: args.cli?.configArgument,
        listen: { socketPath: engineSocketPath },
      },
      ports: [],
      volumes: [
        { name: engineSocketVolume, path: engineSocketDirectory, readOnly: false, retain: false, sizeGibibytes: 1 },
      ],
      health: { kind: "socket", socketPath: engineSocketPath, startWithinSeconds: 60 },
      limits: { cpus: 0.25, memoryMebibytes: 128 },
      stopGraceSeconds: 10,
    },
    args,
  );
}
