import { serviceLabel } from "../scrape-config.ts";
import { type Dashboard, each, ofStack, perInstance, quantile, rateBy, selected, variables } from "./dashboard.ts";

const firing = `ALERTS{alertname=~"Gatehouse.+",alertstate="firing",${ofStack}}`;
/** The service name each target last reported within the past day, since a target that is down reports nothing now. */
const known = `max by (job, instance, service) (last_over_time(${selected("gatehouse_build_info")}[1d]))`;
/** Service of each target, by its label; includes targets that have never responded. */
const labelledUp = `label_replace(up{${serviceLabel}=~".+",${variables}}, "service", "$1", "${serviceLabel}", "(.+)")`;

/** A whole stack on one page: firing alerts, running services, and one panel per component. */
export const overviewDashboard: Dashboard = {
  uid: "gatehouse-overview",
  title: "Gatehouse / Overview",
  description: "One stack at a glance. Each component has its own dashboard.",
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Firing alerts",
          threshold: { value: 1 },
          description: "Firing Gatehouse alerts, by name; 0 if there are none.",
          unit: "none",
          kind: "stat",
          width: 12,
          queries: [
            {
              expr: `count by (alertname, severity) (${firing}) or (vector(0) unless on () ${firing})`,
              legend: "{{alertname}} {{severity}}",
            },
          ],
        },
        {
          title: "Scraped",
          description: "Whether Prometheus can scrape each service that it should.",
          unit: "bool_yes_no",
          kind: "stat",
          width: 12,
          queries: [
            {
              expr: `max by (job, instance, service) ((up{${variables}} * on (job, instance) group_left (service) ${known}) or ${labelledUp})`,
              legend: "{{service}} {{instance}}",
            },
          ],
          alerts: ["GatehouseServiceDown"],
        },
        {
          title: "Ready checks",
          description: "Checks of each service's /readyz: 1 passing.",
          unit: "none",
          kind: "states",
          width: 24,
          queries: [{ expr: selected("gatehouse_ready_check"), legend: "{{instance}} {{check}}" }],
        },
      ],
    },
    {
      title: "Node and gateway",
      panels: [
        {
          title: "Block height",
          description: "The latest block of each node.",
          unit: "none",
          queries: [perInstance("gatehouse_node_height_blocks")],
          alerts: ["GatehouseHeadStale"],
        },
        {
          title: "Calls by outcome",
          description: "Gateway calls per second, by outcome.",
          unit: "reqps",
          queries: [
            { expr: rateBy("outcome", "gatehouse_gateway_call_duration_seconds_count"), legend: "{{outcome}}" },
          ],
          alerts: ["GatehouseGatewayErrors"],
        },
        {
          title: "Calls' duration",
          description: "99th percentile of the duration of gateway calls.",
          unit: "s",
          queries: [
            {
              expr: quantile(0.99, "instance", "gatehouse_gateway_call_duration_seconds_bucket"),
              legend: each,
            },
          ],
          alerts: ["GatehouseGatewayLatency"],
        },
      ],
    },
    {
      title: "Payments and processes",
      panels: [
        {
          title: "Sales by outcome",
          description: "Requests per second for paid routes, by outcome.",
          unit: "reqps",
          queries: [{ expr: rateBy("outcome", "gatehouse_payment_requests_total"), legend: "{{outcome}}" }],
        },
        {
          title: "CPU",
          description: "CPU usage of each service; 1 is one core.",
          unit: "percentunit",
          queries: [
            { expr: `rate(process_cpu_seconds_total{${variables}}[$__rate_interval])`, legend: "{{job}} {{instance}}" },
          ],
        },
        {
          title: "Resident memory",
          description: "Resident memory of each service's process.",
          unit: "bytes",
          queries: [{ expr: `process_resident_memory_bytes{${variables}}`, legend: "{{job}} {{instance}}" }],
        },
        {
          title: "Versions",
          description: "Version of each service, and its Node.js version.",
          unit: "none",
          kind: "stat",
          width: 8,
          queries: [{ expr: selected("gatehouse_build_info"), legend: "{{service}} {{version}}" }],
        },
        {
          title: "Clock",
          description: "Difference between each service's clock and Prometheus's.",
          unit: "s",
          width: 8,
          queries: [
            {
              expr: `${selected("gatehouse_time_seconds")} - timestamp(${selected("gatehouse_time_seconds")})`,
              legend: "{{job}} {{instance}}",
            },
          ],
          alerts: ["GatehouseClockDrift"],
        },
        {
          title: "Loaded files",
          description:
            "Hot-reloaded files of a service (policy, keys, routes): 0 while the current content is rejected and the previous content stays active.",
          unit: "none",
          width: 8,
          queries: [{ expr: selected("gatehouse_file_loaded"), legend: "{{job}} {{instance}} {{setting}}" }],
          alerts: ["GatehouseFileRejected"],
        },
      ],
    },
  ],
};
