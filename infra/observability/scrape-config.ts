import { formatAuthority } from "#daemon/http/address.ts";

/** Label that names the service of a target in all of its series, `up` among them. */
export const serviceLabel = "gatehouse";

/** A listener that answers Prometheus. */
export type ScrapeTarget = Readonly<{
  job: string;
  /** Service that answers; by it, alerts find one whose target does not answer, even one that never did. */
  service: string;
  host: string;
  port: number;
  /** Whether samples keep their own labels. */
  honorLabels?: true | undefined;
  /** Whether the host's name stands for the addresses of several processes, each of which is scraped. */
  replicated?: boolean;
}>;

/** Targets, rules and labels of a stack's own Prometheus. */
export type PrometheusOptions = Readonly<{
  targets: readonly ScrapeTarget[];
  intervalSeconds: number;
  ruleFile: string;
  /** `host:port` of an Alertmanager. */
  alertmanager?: string | undefined;
  /** Labels that distinguish this Prometheus's alerts and samples from those of another one. */
  externalLabels: Readonly<Record<string, string>>;
}>;

/** Timeout of a scrape, Prometheus's own default; less if the interval is shorter. */
const timeoutSeconds = 10;

/** Builds the configuration of Prometheus (2.42 and later), as its file has it: in YAML, or in JSON, which YAML contains. */
export function buildPrometheusConfig(options: PrometheusOptions): Readonly<Record<string, unknown>> {
  const { targets, intervalSeconds, ruleFile, alertmanager, externalLabels } = options;
  const every = `${intervalSeconds}s`;
  return {
    global: {
      scrape_interval: every,
      scrape_timeout: `${Math.min(timeoutSeconds, intervalSeconds)}s`,
      evaluation_interval: every,
      external_labels: externalLabels,
    },
    rule_files: [ruleFile],
    ...(alertmanager !== undefined && {
      alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
    }),
    scrape_configs: targets.map((target) => scrapeJob(target, every)),
  };
}

function scrapeJob({ job, service, host, port, honorLabels, replicated }: ScrapeTarget, every: string) {
  const discovery =
    replicated === true
      ? { dns_sd_configs: [{ names: [host], type: "A", port, refresh_interval: every }] }
      : { static_configs: [{ targets: [formatAuthority(host, port)] }] };
  return {
    job_name: job,
    ...(honorLabels && { honor_labels: true }),
    ...discovery,
    relabel_configs: [{ target_label: serviceLabel, replacement: service }],
  };
}

const podLabel = (name: string) => `__meta_kubernetes_pod_label_app_kubernetes_io_${name}`;

/**
 * The relabelling by which a scrape job over pods (`kubernetes_sd_configs`, `role: pod`) gives Gatehouse's pods the job and the label that the
 * rules take for granted. A job that all pods share would hide a service that is gone behind those that are there.
 */
export const podRelabelling: readonly Readonly<Record<string, unknown>>[] = [
  {
    source_labels: [podLabel("name"), podLabel("component")],
    regex: "gatehouse;(.+)",
    target_label: serviceLabel,
  },
  // The sidecar stands in the node's pod, and is what is scraped there.
  { source_labels: [serviceLabel], regex: "node", target_label: serviceLabel, replacement: "sidecar" },
  {
    source_labels: ["__meta_kubernetes_namespace", serviceLabel],
    separator: "/",
    regex: "(.+/.+)",
    target_label: "job",
  },
];
