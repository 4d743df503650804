import { escapeCell, formatTable } from "#daemon/markdown.ts";
import { metricsByPart } from "./metric-catalogue.ts";
import type { MetricDefinition } from "./metric-definition.ts";

type Part = keyof typeof metricsByPart;

/** Services that expose each part of the catalogue, in the order of the page. */
const parts: Readonly<Record<Part, Readonly<{ title: string; by: string }>>> = {
  everyService: {
    title: "Every service",
    by: "Each service, at its listener for operators; `gatehouse_connections…` where clients connect to it.",
  },
  node: {
    title: "The node and its upkeep",
    by: "The sidecar; `gatehouse gateway` has those of the node's RPC, of references, of conditions and of the event loop.",
  },
  gateway: { title: "The gateway", by: "The sidecar, and `gatehouse gateway`." },
  volume: { title: "The node's volume", by: "A sidecar with `volume.claim`, on Kubernetes." },
  facilitator: { title: "The facilitator", by: "The facilitator, at `operations.port`." },
  resourceServer: { title: "The resource server", by: "The resource server, at `operations.port`." },
  engineProxy: {
    title: "The engine proxy",
    by: "The engine proxy, at `/metrics` of its Unix socket, and the sidecar before it, which scrapes it at each scrape: the proxy's container has no network.",
  },
};

/** Prints the metrics of the docs, Markdown: each with its type, labels, unit and meaning, by the service that exposes it. */
export function printMetricReference(): string {
  return [
    "# Metrics",
    "",
    "Every metric of Gatehouse's own, as a service answers it at `/metrics`; printed by `npm run docs` from the catalogue of which alerts and dashboards are made, which a test compares with",
    "running services. Besides, each service has Prometheus's usual ones of its process and of Node (`process_…`, `nodejs_…`). A histogram `x` has the series `x_bucket`, `x_sum` and `x_count`.",
    "Labels come from closed lists, settings and files, never from a request. [Observability](observability.md) says how to scrape them, the [runbooks](runbooks/README.md) which alerts there are.",
    "",
    ...(Object.keys(parts) as Part[]).flatMap(formatSection),
  ].join("\n");
}

function formatSection(part: Part): readonly string[] {
  const { title, by } = parts[part];
  return [`## ${title}`, "", by, "", ...formatMetricTable(part), ""];
}

function formatMetricTable(part: Part): readonly string[] {
  const metrics: readonly (readonly [string, MetricDefinition])[] = Object.entries(metricsByPart[part]);
  const rows = metrics.map(([name, { type, labels, help }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    findUnit(name, type),
    escapeCell(help),
  ]);
  return formatTable(["metric", "type", "labels", "unit", "meaning"], rows);
}

/** Units by the end of a name; the first match holds. */
const units = [
  [/^gatehouse_time_seconds$|_timestamp_seconds$/, "seconds since 1970"],
  [/_seconds(?:_total)?$/, "seconds"],
  [/_bytes$/, "bytes"],
  [/_blocks$/, "blocks"],
  [/_versions?$/, "versions"],
  [/_balance_native$/, "native currency"],
  [/_units_total$/, "smallest units"],
  [/_info$/, "1"],
] as const;

function findUnit(name: string, type: MetricDefinition["type"]): string {
  return units.find(([pattern]) => pattern.test(name))?.[1] ?? (type === "counter" ? "count" : "number");
}
