import { expect, test } from "vitest";
import { metricCatalogue } from "./metric-catalogue.ts";
import { renderMetricReference } from "./metric-reference.ts";

test("the page of metrics lists every metric", () => {
  const listed = [...renderMetricReference().matchAll(/^- `(gatehouse_\w+)` /gm)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(Object.keys(metricCatalogue).toSorted());
});
