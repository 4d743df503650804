import { stackServices } from "#daemon/stack-services.ts";
import type { BroughtService } from "./brought-service.ts";
import type { BuiltService } from "./built-service.ts";
import { buildPrometheusProject } from "./observability/prometheus-project.ts";
import type { ResourceLimits, ServiceSpec } from "./service-spec.ts";

const { honorLabels, metrics, ports } = stackServices.pushgateway;

export type PushgatewayArgs = Readonly<{ limits?: ResourceLimits | undefined }>;

/** The official image's own working directory, which a new volume inherits with its owner. */
const directory = "/pushgateway";

/** Save interval: a kill loses the metrics pushed since the last save; a node pushes again after its own interval. */
const persistenceInterval = "30s";

/**
 * Builds Prometheus's Pushgateway from its official image: written by the node, read by the sidecar and the operator's Prometheus, never
 * public. A file on a volume persists the pushed metrics. The image has no shell script, but busybox's `wget`.
 *
 * @example
 * import { pushgatewaySpec, Service } from "gatehouse-evm/pulumi";
 *
 * const service = pushgatewaySpec({ limits: { cpus: 0.5, memoryMebibytes: 128 } });
 * new Service("Pushgateway", "pushgateway", { platform, service });
 */
export function pushgatewaySpec(args: PushgatewayArgs): BuiltService {
  const spec: ServiceSpec = {
    ...buildPrometheusProject("pushgateway"),
    arguments: [
      `--web.listen-address=:${ports.http}`,
      `--persistence.file=${directory}/pushgateway.data`,
      `--persistence.interval=${persistenceInterval}`,
    ],
    files: [],
    volumes: [{ name: "pushgateway-data", path: directory, readOnly: false, keep: false, sizeGibibytes: 1 }],
    edges: [],
    metrics: { port: metrics, honorLabels },
    limits: args.limits ?? { cpus: 0.5, memoryMebibytes: 256 },
    stopGraceSeconds: 10,
  };
  return { spec, problems: [] };
}

/** The Pushgateway of a stack that does not use an operator's. */
export const pushgateway: BroughtService<PushgatewayArgs> = {
  isBrought: ({ pushgatewayUrl }) => pushgatewayUrl === undefined,
  readArgs: ({ limits }) => ({ limits: limits.pushgateway }),
  build: pushgatewaySpec,
};
