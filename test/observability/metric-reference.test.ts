import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { metricCatalogue } from "./metric-catalogue.ts";
import { renderMetricReference } from "./metric-reference.ts";

test("docs/metrics.md matches the metric catalogue (`npm run docs` updates it)", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/metrics.md"), "utf8");
  expect(page).toBe(renderMetricReference());
  const listed = [...page.matchAll(/^- `(gatehouse_\w+)` /gm)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(Object.keys(metricCatalogue).toSorted());
});
