import { escapeCell, wrapLines } from "#daemon/markdown.ts";
import { metricsByPart } from "./metric-catalogue.ts";

type Part = keyof typeof metricsByPart;

const parts: Readonly<Record<Part, Readonly<{ title: string; by: string }>>> = {
  everyService: {
    title: "Every service",
    by: "Each service, on its admin port; `gatehouse_connections…` only where clients connect.",
  },
  node: {
    title: "The node and its upkeep",
    by: "The sidecar; `gatehouse gateway` exports those for the node's RPC, references, conditions and the event loop.",
  },
  gateway: { title: "The gateway", by: "The sidecar, and `gatehouse gateway`." },
  volume: { title: "The node's volume", by: "A sidecar with `volume.claim`, on Kubernetes." },
  facilitator: { title: "The facilitator", by: "The facilitator, at `operations.port`." },
  resourceServer: { title: "The resource server", by: "The resource server, at `operations.port`." },
  engineProxy: {
    title: "The engine proxy",
    by: "The engine proxy, at `/metrics` on its Unix socket; its container has no network, so query them there (`curl --unix-socket`).",
  },
};

/** Renders the metrics reference for the docs in Markdown: each metric with its type, labels, unit and meaning, by the service that exposes it. */
export function renderMetricReference(): string {
  return [
    "# Metrics",
    "",
    "Printed by `npm run docs` from what the services register, which a test compares with running services; do not edit.",
    "Type and labels are in brackets. Each service also has Prometheus's usual metrics of its process and of Node (`process_…`, `nodejs_…`). A histogram `x`",
    "has the series `x_bucket`, `x_sum` and `x_count`. The unit is the end of a name; a `…_timestamp_seconds` counts from 1970. Labels come from closed lists, settings and",
    "files, never from a request. [Observability](observability.md) explains scraping; the [runbooks](runbooks/README.md) list the alerts.",
    "",
    ...(Object.keys(parts) as Part[]).flatMap(formatSection),
  ].join("\n");
}

function formatSection(part: Part): readonly string[] {
  const { title, by } = parts[part];
  const lines = Object.values(metricsByPart[part]).flatMap(({ name, type, labelNames, help }) => {
    const brackets = [type, ...labelNames.map((label) => `\`${label}\``)].join(", ");
    return wrapLines(`- \`${name}\` (${brackets}): ${escapeCell(help)}`);
  });
  return [`## ${title}`, "", by, "", ...lines, ""];
}
