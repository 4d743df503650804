import { stackServices } from "../stack-services.ts";
import { upstreamSettings } from "#devnet/upstream/settings.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { BundledService } from "./bundled-service.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";
import { daemonHealth } from "./probes.ts";

const { ports } = stackServices.upstream;

/** Builds the sample upstream, `GET /data`, which a stack without its own routes sells. */
export function upstreamSpec(args: CommonArgs): BuiltService {
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
    args,
  );
}

/** Whether a stack sells the sample, because it configures no routes of its own. */
export function sellsSample({ routes }: Pick<StackConfig, "routes">): boolean {
  return Object.keys(routes).length === 0;
}

/** The sample upstream. */
export const upstream: BundledService<CommonArgs> = {
  isBundled: sellsSample,
  readArgs: ({ limits, settings }) => ({ limits: limits.upstream, settings: settings.upstream }),
  build: upstreamSpec,
};
