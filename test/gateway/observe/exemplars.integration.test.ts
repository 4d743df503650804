import { expect, it } from "vitest";
import { call } from "#gateway/testing/test-gateway.ts";
import { hasPrometheus, startPrometheus, withoutPrometheus } from "../../support/prometheus/prometheus.ts";
import { startBareAnvil } from "../../support/node/bare-anvil.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startCollector } from "../../support/gateway/trace-collector.ts";

const openMetrics = "application/openmetrics-text; version=1.0.0";
const chainId = 31_337;
const family = "gatehouse_gateway_call_duration_seconds";

type Exemplars = readonly Readonly<{
  seriesLabels: Readonly<Record<string, string>>;
  exemplars: readonly Readonly<{ labels: Readonly<Record<string, string>>; value: string }>[];
}>[];

function startGateway(nodeUrl: string, tracing: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return startService("gateway", {
    GATEHOUSE_GATEWAY_NODE_HTTP_URL: nodeUrl,
    GATEHOUSE_GATEWAY_NODE_CHAIN_ID: String(chainId),
    GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
    GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
    ...tracing,
  });
}

async function startNode() {
  const [port = 0] = await findFreePorts(1);
  return startBareAnvil(port, chainId);
}

async function readMetrics(gateway: ServiceProcess, accept: string) {
  const response = await fetch(`${gateway.urls["operations"]}/metrics`, { headers: { Accept: accept } });
  return { type: response.headers.get("content-type"), text: await response.text() };
}

const typeOf = async (gateway: ServiceProcess, accept: string) => (await readMetrics(gateway, accept)).type;

it("a gateway without tracing always serves the plain format", async () => {
  await using node = await startNode();
  await using gateway = await startGateway(node.url);
  expect(await typeOf(gateway, openMetrics)).toMatch(/^text\/plain; version=0\.0\.4/);
});

it.skipIf(!hasPrometheus)(
  `a gateway with tracing adds trace exemplars to durations, and Prometheus stores them${withoutPrometheus}`,
  async () => {
    await using node = await startNode();
    await using collector = await startCollector();
    await using gateway = await startGateway(node.url, {
      GATEHOUSE_GATEWAY_TRACING_OTLP_URL: collector.url,
      GATEHOUSE_GATEWAY_TRACING_SAMPLE_RATIO: "1",
    });
    // Runs first, because the series to scrape appear after five seconds.
    await using prometheus = await startPrometheus({ rules: [], intervalMs: 1_000 });
    await prometheus.scrape({ gateway: [new URL(gateway.urls["operations"] ?? "").host] });
    await until("the node has responded to a call", generousMs, async () => {
      await call(gateway.urls["gateway"] ?? "", "eth_gasPrice");
      return collector.spans().some(({ name }) => name === "node eth_gasPrice");
    });
    const plain = await readMetrics(gateway, "*/*");
    expect(plain.type).toMatch(/^text\/plain/);
    expect(plain.text).not.toContain("trace_id");

    const asked = new URLSearchParams({
      query: `${family}_bucket`,
      start: String(Date.now() / 1_000 - 600),
      end: String(Date.now() / 1_000 + 600),
    });
    const found = await until("Prometheus has exemplars", generousMs, async () => {
      const response = await fetch(`${prometheus.url}/api/v1/query_exemplars?${asked.toString()}`);
      const { data } = (await response.json()) as { data: Exemplars };
      return data.some(({ seriesLabels }) => seriesLabels["outcome"] === "node") && data;
    });
    const named = found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels["trace_id"]));
    // Spans are sent after two seconds.
    await until("the collector has a span of every trace in an exemplar", generousMs, () => {
      const sent = new Set<string | undefined>(collector.spans().map(({ traceId }) => traceId));
      return named.every((traceId) => sent.has(traceId));
    });
    // Prometheus can parse the format that it requests, and the metrics keep their names.
    expect((await prometheus.query("up == 1")).length).toBe(1);
    expect((await prometheus.query("gatehouse_gateway_reads_total")).length).toBeGreaterThan(0);
  },
);
