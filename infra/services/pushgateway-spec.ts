import { stackServices } from "#daemon/stack-services.ts";
import type { BroughtService } from "./brought-service.ts";
import type { BuiltService } from "./built-service.ts";
import { buildPrometheusProject } from "./observability/prometheus-project.ts";
import type { ResourceLimits, ServiceSpec } from "./service-spec.ts";

const { honorLabels, metrics, ports } = stackServices.pushgateway;

/** Arguments of {@link pushgatewaySpec}. */
export type PushgatewayArgs = Readonly<{ limits?: ResourceLimits | undefined }>;

/** The official image's own working directory, which a new volume takes over with its owner. */
const directory = "/pushgateway";

/** Interval of saving: what was pushed within it before a kill is lost, and a node pushes again after its own interval. */
const persistenceInterval = "30s";

/**
 * Builds Prometheus's Pushgateway from its official image: written to by the node, read by the sidecar and by the operator's Prometheus,
 * never public. What was pushed outlives it in a file on a volume. The image has no shell script, but busybox's `wget`.
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

/** The Pushgateway of a stack that uses none of its operator's. */
export const pushgateway: BroughtService<PushgatewayArgs> = {
  isBrought: ({ pushgatewayUrl }) => pushgatewayUrl === undefined,
  readArgs: ({ limits }) => ({ limits: limits.pushgateway }),
  build: pushgatewaySpec,
};
