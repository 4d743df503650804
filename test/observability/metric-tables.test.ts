import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { metricsByPart } from "#infra/observability/metric-catalogue.ts";

const root = join(import.meta.dirname, "../..");

/** The rows of a README's table of metrics: name and labels. */
function tableOf(readme: string): Record<string, readonly string[]> {
  const text = readFileSync(join(root, readme), "utf8");
  const rows = text.matchAll(/^\| `(gatehouse_\w+)`\s*\|([^|]*)\|[^|]*\|$/gm);
  return Object.fromEntries([...rows].map(([, name = "", labels = ""]) => [name, labelsIn(labels)]));
}

function labelsIn(cell: string): readonly string[] {
  return cell.split(",").flatMap((label) => label.trim() || []);
}

test.each([
  ["gateway/README.md", metricsByPart.gateway],
  ["facilitator/README.md", metricsByPart.facilitator],
  ["resource-server/README.md", metricsByPart.resourceServer],
])("the table of %s has the metrics of its service, each with its labels", (readme, metrics) => {
  const exposed = Object.entries(metrics).map(([name, { labels }]) => [name, [...labels]]);
  expect(tableOf(readme)).toEqual(Object.fromEntries(exposed));
});
