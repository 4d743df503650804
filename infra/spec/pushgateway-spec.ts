import { pushgatewaySettings } from "#devnet/pushgateway/settings.ts";
import { buildService, type BuiltService, type CommonArgs } from "./built-service.ts";

/** Port of the Pushgateway (specification, sample of `monitor_config`). */
export const pushgatewayPort = 9_091;

/** Builds the Pushgateway: written to by the node, read by the sidecar and by Prometheus, never public. */
export function pushgatewaySpec(args: CommonArgs): BuiltService {
  return buildService(
    {
      name: "pushgateway",
      image: "devnet",
      definition: pushgatewaySettings,
      tree: { listen: { host: "0.0.0.0", port: pushgatewayPort } },
      ports: [{ name: "http", number: pushgatewayPort, audience: "system" }],
      volumes: [],
      health: {
        kind: "http",
        port: "http",
        readyPath: "/-/ready",
        livePath: "/-/healthy",
        startupPath: "/-/ready",
        startWithinSeconds: 60,
      },
      limits: { cpus: 0.5, memoryMebibytes: 256 },
      stopGraceSeconds: 10,
    },
    args,
  );
}
