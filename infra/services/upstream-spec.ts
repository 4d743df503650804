import { stackServices } from "../stack-services.ts";
import { upstreamSettings } from "#devnet/upstream/settings.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { buildService, readCommonArgs, type BuiltService } from "./built-service.ts";
import { daemonHealth } from "./probes.ts";

const { ports } = stackServices.upstream;

/** Builds the sample upstream, `GET /data`, which a stack without its own routes sells. */
export function buildUpstreamSpec(config: StackConfig): BuiltService {
  return buildService(
    {
      name: "upstream",
      image: "devnet",
      definition: upstreamSettings,
      tree: { listen: { host: "0.0.0.0", port: ports.http } },
      ports: [{ name: "http", number: ports.http, audience: "system" }],
      volumes: [],
      health: daemonHealth,
      limits: { cpus: 0.5, memoryMebibytes: 256 },
      stopGraceSeconds: 10,
    },
    readCommonArgs(config, "upstream"),
  );
}
