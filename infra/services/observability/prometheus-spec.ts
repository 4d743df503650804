import { stringify } from "yaml";
import { stackServices } from "../../stack-services.ts";
import { readRuleGroups, renderRuleFile } from "../../observability/rules.ts";
import { buildPrometheusConfig, type ScrapeTarget } from "../../observability/scrape-config.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import type { BuiltService } from "../built-service.ts";
import { buildPrometheusProject } from "./prometheus-project.ts";
import { filesDirectory, findPort, type ServiceSpec } from "../service-spec.ts";
import { namePodsHost, type StackContext } from "../stack-context.ts";

/** The official image's own data directory, which a new volume inherits together with its owner. */
const directory = "/prometheus";

/** Fraction of the volume used for blocks; the rest is for the write-ahead log and compaction. */
const blocksShare = 0.8;

const rulesName = "rules.yaml";

/**
 * Builds a Prometheus that scrapes the stack's services on their own ports and evaluates Gatehouse's rules. It is never public, because it
 * has no authentication.
 */
export function buildPrometheusSpec(
  { observability, limits }: StackConfig,
  { prefix, addresses }: StackContext,
  services: readonly ServiceSpec[],
): BuiltService | undefined {
  if (observability?.prometheus === undefined) return undefined;
  const { alertmanager, runbookBaseUrl, scrapeIntervalSeconds } = observability;
  const { retentionDays, volumeGibibytes } = observability.prometheus;
  const targets = services.flatMap((service) => listTargets(service, { prefix, addresses }));
  const config = buildPrometheusConfig({
    targets,
    intervalSeconds: scrapeIntervalSeconds,
    ruleFile: rulesName,
    alertmanager: alertmanager && `${addresses.alertmanager}:${stackServices.alertmanager.ports.http}`,
    externalLabels: { stack: prefix },
  });
  const groups = readRuleGroups({ runbookBaseUrl, watchdog: alertmanager?.watchdog });
  const spec: ServiceSpec = {
    ...buildPrometheusProject("prometheus"),
    arguments: [
      `--config.file=${filesDirectory}/prometheus.yaml`,
      `--web.listen-address=:${stackServices.prometheus.ports.http}`,
      // By default, scripts on any page could read from Prometheus through a browser that can reach it.
      "--web.cors.origin=^$",
      `--storage.tsdb.path=${directory}`,
      "--enable-feature=exemplar-storage",
      `--storage.tsdb.retention.time=${retentionDays}d`,
      `--storage.tsdb.retention.size=${Math.floor(volumeGibibytes * 1_024 * blocksShare)}MB`,
    ],
    files: [
      { name: "prometheus.yaml", content: stringify(config, { lineWidth: 0 }), secret: false },
      { name: rulesName, content: renderRuleFile(groups), secret: false },
    ],
    volumes: [
      { name: "prometheus-data", path: directory, readOnly: false, retain: false, sizeGibibytes: volumeGibibytes },
    ],
    edges: [
      ...services.flatMap(({ name, metrics }) => (metrics === undefined ? [] : [{ to: name, port: metrics.port }])),
      ...(alertmanager === undefined ? [] : [{ to: "alertmanager", port: "http" } as const]),
    ],
    limits: limits.prometheus ?? { cpus: 1, memoryMebibytes: 1_024 },
    stopGraceSeconds: 60,
  };
  return { spec, problems: [] };
}

/** Lists the targets of a service, whose host name must resolve to all its processes, ready or not. */
function listTargets(
  service: ServiceSpec,
  { prefix, addresses }: Pick<StackContext, "prefix" | "addresses">,
): readonly ScrapeTarget[] {
  const { name, metrics, replicas } = service;
  if (metrics === undefined) return [];
  const replicated = replicas.max > 1;
  const host = name === "sidecar" ? addresses.sidecarStatus : addresses.processesOf(name);
  return [
    {
      job: `${prefix}/${name}`,
      service: name,
      host: replicated ? namePodsHost(name) : host,
      port: findPort(service, metrics.port).number,
      honorLabels: metrics.honorLabels,
      replicated,
    },
  ];
}
