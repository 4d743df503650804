import { stackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { BuiltService } from "./built-service.ts";
import { buildPrometheusProject } from "./observability/prometheus-project.ts";
import type { ServiceSpec } from "./service-spec.ts";

const { honorLabels, metrics, ports } = stackServices.pushgateway;

/** The official image's working directory. A new volume mounted there inherits its owner. */
const directory = "/pushgateway";

/** Save interval. If the process is killed, metrics pushed since the last save are lost until each node's next push. */
const persistenceInterval = "30s";

/**
 * Builds Prometheus's Pushgateway from its official image. The node writes to it; the sidecar and the operator's Prometheus read from it.
 * It is never public. Pushed metrics are persisted in a file on a volume. The image has no health-check script of its own, but has
 * busybox's `wget`.
 */
export function buildPushgatewaySpec({ limits }: StackConfig): BuiltService {
  const spec: ServiceSpec = {
    ...buildPrometheusProject("pushgateway"),
    arguments: [
      `--web.listen-address=:${ports.http}`,
      `--persistence.file=${directory}/pushgateway.data`,
      `--persistence.interval=${persistenceInterval}`,
    ],
    files: [],
    volumes: [{ name: "pushgateway-data", path: directory, readOnly: false, retain: false, sizeGibibytes: 1 }],
    edges: [],
    metrics: { port: metrics, honorLabels },
    limits: limits.pushgateway ?? { cpus: 0.5, memoryMebibytes: 256 },
    stopGraceSeconds: 10,
  };
  return { spec, problems: [] };
}
