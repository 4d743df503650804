import { stringify } from "yaml";
import { listScrapedServices, stackServices } from "../../stack-services.ts";
import { readRuleGroups, renderRuleFile } from "../../observability/rules.ts";
import { buildPrometheusConfig, type ScrapeTarget } from "../../observability/scrape-config.ts";
import { namePodsHost } from "../addresses.ts";
import type { BundledService } from "../bundled-service.ts";
import type { BuiltService } from "../built-service.ts";
import { buildPrometheusProject } from "./prometheus-project.ts";
import { filesDirectory, findPort, type ResourceLimits, type ServiceName, type ServiceSpec } from "../service-spec.ts";

export type PrometheusArgs = Readonly<{
  /** Job prefix, e.g. `gatehouse-prod` in `gatehouse-prod/facilitator`. */
  prefix: string;
  /** Host names that resolve to all processes of a service, ready or not; only for services that have such a name. */
  hosts: Readonly<Partial<Record<ServiceName, string>>>;
  /** The stack's services; those with a metrics port are scraped. */
  services: readonly ServiceSpec[];
  intervalSeconds: number;
  runbookBaseUrl: string;
  retentionDays: number;
  volumeGibibytes: number;
  /** Host of the stack's own Alertmanager, if it has one. */
  alertmanager: string | undefined;
  /** Whether to include an alert that always fires, whose absence shows that alerts are not being delivered. */
  watchdog: boolean;
  limits?: ResourceLimits | undefined;
}>;

/** The official image's own data directory, which a new volume inherits together with its owner. */
const directory = "/prometheus";

/** Fraction of the volume used for blocks; the rest is for the write-ahead log and compaction. */
const blocksShare = 0.8;

const rulesName = "rules.yaml";

/**
 * Builds a Prometheus that scrapes the stack's services on their own ports and evaluates Gatehouse's rules. It is never public, because it
 * has no authentication.
 */
export function prometheusSpec(args: PrometheusArgs): BuiltService {
  const scraped = args.services.filter(({ metrics }) => metrics !== undefined);
  const config = buildPrometheusConfig({
    targets: scraped.flatMap((service) => listTargets(service, args)),
    intervalSeconds: args.intervalSeconds,
    ruleFile: rulesName,
    alertmanager: args.alertmanager && `${args.alertmanager}:${stackServices.alertmanager.ports.http}`,
    externalLabels: { stack: args.prefix },
  });
  const spec: ServiceSpec = {
    ...buildPrometheusProject("prometheus"),
    arguments: [
      `--config.file=${filesDirectory}/prometheus.yaml`,
      `--web.listen-address=:${stackServices.prometheus.ports.http}`,
      // By default, scripts on any page could read from Prometheus in a browser that can reach it.
      "--web.cors.origin=^$",
      `--storage.tsdb.path=${directory}`,
      "--enable-feature=exemplar-storage",
      `--storage.tsdb.retention.time=${args.retentionDays}d`,
      `--storage.tsdb.retention.size=${Math.floor(args.volumeGibibytes * 1_024 * blocksShare)}MB`,
    ],
    files: [
      { name: "prometheus.yaml", content: stringify(config, { lineWidth: 0 }), secret: false },
      { name: rulesName, content: renderRuleFile(readRuleGroups(args)), secret: false },
    ],
    volumes: [
      { name: "prometheus-data", path: directory, readOnly: false, keep: false, sizeGibibytes: args.volumeGibibytes },
    ],
    edges: [
      ...scraped.flatMap(({ name, metrics }) => (metrics === undefined ? [] : [{ to: name, port: metrics.port }])),
      ...(args.alertmanager === undefined ? [] : [{ to: "alertmanager", port: "http" } as const]),
    ],
    limits: args.limits ?? { cpus: 1, memoryMebibytes: 1_024 },
    stopGraceSeconds: 60,
  };
  return { spec, problems: [] };
}

function listTargets(service: ServiceSpec, { prefix, hosts }: PrometheusArgs): readonly ScrapeTarget[] {
  const { name, metrics, replicas } = service;
  if (metrics === undefined) return [];
  const replicated = replicas.max > 1;
  return [
    {
      job: `${prefix}/${name}`,
      service: name,
      host: replicated ? namePodsHost(name) : (hosts[name] ?? name),
      port: findPort(service, metrics.port).number,
      honorLabels: metrics.honorLabels,
      replicated,
    },
  ];
}

/** A stack's own Prometheus, which scrapes the other services. */
export const prometheus: BundledService<Omit<PrometheusArgs, "services">> = {
  isBundled: ({ observability }) => observability?.prometheus !== undefined,
  readArgs: ({ observability, limits }, { prefix, addresses }) => {
    if (observability?.prometheus === undefined) return undefined;
    const { alertmanager, runbookBaseUrl, scrapeIntervalSeconds } = observability;
    const { retentionDays, volumeGibibytes } = observability.prometheus;
    const hosts = listScrapedServices().map((name) => {
      return [name, name === "sidecar" ? addresses.sidecarStatus : addresses.processesOf(name)] as const;
    });
    return {
      prefix,
      hosts: Object.fromEntries(hosts),
      intervalSeconds: scrapeIntervalSeconds,
      runbookBaseUrl,
      retentionDays,
      volumeGibibytes,
      alertmanager: alertmanager && addresses.alertmanager,
      watchdog: alertmanager?.watchdog ?? false,
      limits: limits.prometheus,
    };
  },
  build: (args, services) => prometheusSpec({ ...args, services }),
};
