import { Counter, Gauge, Histogram } from "prom-client";
import { expect, it } from "vitest";
import { createMetrics } from "../metrics.ts";
import { renderOpenMetrics } from "./operations-listener.ts";

const samplesOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.replace(/ .*$/, ""));

it("has the same series as the plain format, which is unaffected", async () => {
  const metrics = createMetrics("test");
  const registers = [metrics];
  new Counter({ name: "test_total", help: "Test.", labelNames: ["a"], registers }).inc({ a: 'b"c' });
  new Gauge({ name: "test_now", help: "Test.", registers }).set(1.5);
  new Histogram({ name: "test_seconds", help: "Test.", labelNames: ["a"], registers }).observe({ a: "b" }, 2);
  const plain = samplesOf(await metrics.metrics());
  const { text, contentType } = await renderOpenMetrics(metrics);
  expect(contentType).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
  expect(samplesOf(text)).toEqual(plain);
  expect(text).toMatch(/\n# TYPE test counter\n[^#]*\n# HELP/);
  expect(text.endsWith("\n# EOF\n")).toBe(true);
  expect(samplesOf(await metrics.metrics())).toEqual(plain);
});
