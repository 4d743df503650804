import { upstreamSettings } from "#devnet/upstream/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { daemonHealth } from "./health-spec.ts";

/** Port of the sample upstream. */
export const upstreamPort = 4_022;

/** Builds the sample upstream that its own stack without routes sells: `GET /data`. */
export function upstreamSpec(args: CommonArgs): BuiltService {
  return buildService(
    {
      name: "upstream",
      image: "devnet",
      definition: upstreamSettings,
      tree: { listen: { host: "0.0.0.0", port: upstreamPort } },
      ports: [{ name: "http", number: upstreamPort, audience: "system" }],
      volumes: [],
      health: daemonHealth,
      limits: { cpus: 0.5, memoryMebibytes: 256 },
      stopGraceSeconds: 10,
    },
    args,
  );
}
