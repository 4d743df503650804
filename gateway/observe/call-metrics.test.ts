import { Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { createDurationHistogram, createPrometheusMeter } from "./call-metrics.ts";
import { limitNames } from "./meter.ts";

test("a tier's rejections start at zero with its first call, so that the first rejection shows as an increase", async () => {
  const registry = new Registry();
  const meter = createPrometheusMeter(registry);
  const counts = async () =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith("gatehouse_gateway_limited_total{"));
  expect(await counts()).toEqual([]);
  meter.call({ method: "eth_call", tier: "public", outcome: "node", seconds: 0.01, requestId: undefined });
  expect(await counts()).toEqual(
    limitNames.map((limit) => `gatehouse_gateway_limited_total{limit="${limit}",tier="public"} 0`),
  );
  // The page omits zeros.
  expect((await meter.traffic()).limited).toEqual([]);
  meter.limited("rate", "public");
  expect(await counts()).toContain('gatehouse_gateway_limited_total{limit="rate",tier="public"} 1');
  expect((await meter.traffic()).limited).toEqual([{ limit: "rate", tier: "public", count: 1 }]);
});

test("call durations below a millisecond are distinguished", async () => {
  const registry = new Registry();
  const meter = createPrometheusMeter(registry);
  meter.call({ method: "eth_chainId", tier: "public", outcome: "cache", seconds: 0.0002, requestId: undefined });
  const buckets = (await registry.metrics())
    .split("\n")
    .filter((line) => line.startsWith("gatehouse_gateway_call_duration_seconds_bucket"))
    .map((line) => /le="([^"]+)".* (\d+)$/.exec(line)?.slice(1));
  expect(buckets.slice(0, 3)).toEqual([
    ["0.0001", "0"],
    ["0.00025", "1"],
    ["0.0005", "1"],
  ]);
});

/** The text with each line's labels in a fixed order. */
function sorted(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(",").sort().join(",")}}`));
}

test("a duration histogram prints and returns the same as prom-client's histogram", async () => {
  const options = { name: "test_seconds", help: "Test.", labelNames: ["method"], buckets: [0.1, 1] };
  const ours = new Registry();
  const theirs = new Registry();
  const series = createDurationHistogram(options, ours)({ method: "m" });
  const histogram = new Histogram({ ...options, registers: [theirs] });
  for (const seconds of [0.05, 0.1, 0.5, 1, 7]) {
    series.observe(seconds);
    histogram.observe({ method: "m" }, seconds);
  }
  expect(sorted(await ours.metrics())).toEqual(sorted(await theirs.metrics()));
  expect(await theirs.getMetricsAsJSON()).toMatchObject(await ours.getMetricsAsJSON());
});
