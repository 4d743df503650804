import type { Alert, RuleGroup } from "../alert.ts";
import { serviceLabel } from "../scrape-config.ts";
import { selectExternal, series, type Matcher } from "../series.ts";

/** Prometheus's own metric: 0 while a target can't be scraped. */
const scraped = "up";
const clock = series("gatehouse_time_seconds");

/**
 * Builds the expression for lost targets: targets that responded within the past week but don't now; targets of a labelled service that
 * have not responded for a quarter of an hour, even if they never did; and jobs whose targets have all left service discovery. The first
 * two kinds yield one series, so that a service that stays down is reported once, however long it takes.
 */
function buildLostQuery(service: Matcher): string {
  const known = (range: string) => `last_over_time(${series("gatehouse_build_info", { service })}[${range}])`;
  const silent = `max by (job, instance, service) (${known("7d")}) and on (job, instance) ${scraped} == 0`;
  const labels = selectExternal(scraped, { [serviceLabel]: service });
  const away = `max_over_time(${labels}[15m]) == 0 and ${labels} offset 15m == 0`;
  const never = `max by (job, instance, service) (label_replace(${away}, "service", "$1", "${serviceLabel}", "(.+)"))`;
  const gone = `max by (job, service) (${known("1d")}) unless on (job) ${scraped}`;
  return `(${silent}) or (${never}) or (${gone})`;
}

const alerts: readonly Alert[] = [
  {
    name: "GatehouseServiceDown",
    // Also excludes targets without the label: they belong to other systems.
    expr: buildLostQuery({ notIn: ["devnet", ""] }),
    for: "3m",
    severity: "critical",
    summary: "The {{ $labels.service }} {{ $labels.instance }} of job {{ $labels.job }} is down.",
    description:
      "The work of the {{ $labels.service }} (serving and guarding the node, selling, settling) stops until it runs again. Check whether its process or container is running.",
  },
  {
    name: "GatehouseClockDrift",
    expr: `abs(${clock} - timestamp(${clock})) > 30`,
    for: "10m",
    severity: "warning",
    summary: "The clock of {{ $labels.instance }} and Prometheus's clock differ by {{ $value | humanizeDuration }}.",
    description:
      "Payments are rejected as not yet valid or expired, and log timestamps are wrong. Synchronize the clock of {{ $labels.instance }}, or Prometheus's.",
  },
  {
    name: "GatehouseFileRejected",
    expr: `${series("gatehouse_file_loaded")} == 0`,
    for: "2m",
    severity: "warning",
    summary:
      "The file of {{ $labels.setting }} at {{ $labels.instance }} was rejected ({{ $value }} of 1); the previous content stays active.",
    description:
      "The change to {{ $labels.setting }} is not active. The log of {{ $labels.instance }} has the error in the file.",
  },
];

/** Alerts on the services' processes and on the files they read. */
export const serviceRules: RuleGroup = { name: "gatehouse-services", recordings: [], alerts };
