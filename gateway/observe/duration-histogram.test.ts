import { Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { createDurationHistogram } from "./duration-histogram.ts";

/** The text with each line's labels in a fixed order. */
function sorted(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(",").sort().join(",")}}`));
}

it("prints and returns the same as prom-client's histogram", async () => {
  const options = { name: "test_seconds", help: "Test.", labelNames: ["method"], buckets: [0.1, 1] };
  const ours = new Registry();
  const theirs = new Registry();
  const series = createDurationHistogram(options, ours).series({ method: "m" });
  const histogram = new Histogram({ ...options, registers: [theirs] });
  for (const seconds of [0.05, 0.1, 0.5, 1, 7]) {
    series.observe(seconds);
    histogram.observe({ method: "m" }, seconds);
  }
  expect(sorted(await ours.metrics())).toEqual(sorted(await theirs.metrics()));
  expect(await theirs.getMetricsAsJSON()).toMatchObject(await ours.getMetricsAsJSON());
});
