import { formatAuthority } from "#daemon/http/address.ts";

/** Label that contains a target's service; set on all series of the target, including `up`. */
export const serviceLabel = "gatehouse";

export type ScrapeTarget = Readonly<{
  job: string;
  /** Service behind the target; alerts use it to identify targets that don't respond, including those that never did. */
  service: string;
  host: string;
  port: number;
  honorLabels?: true | undefined;
  /** Whether the host name resolves to the addresses of several processes, each of which is scraped separately. */
  replicated?: boolean;
}>;

/** Targets, rules and labels for a stack's own Prometheus. */
export type PrometheusOptions = Readonly<{
  targets: readonly ScrapeTarget[];
  intervalSeconds: number;
  ruleFile: string;
  /** `host:port` of an Alertmanager. */
  alertmanager?: string | undefined;
  /** Labels that distinguish this Prometheus's alerts and samples from those of another. */
  externalLabels: Readonly<Record<string, string>>;
}>;

/** Scrape timeout, Prometheus's own default; shorter if the interval is shorter. */
const timeoutSeconds = 10;

/** Builds the configuration for Prometheus (2.42 and later) as the content of its file: YAML, or JSON, which is a subset of YAML. */
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
