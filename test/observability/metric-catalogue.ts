import { Hono } from "hono";
import { Registry } from "prom-client";
import { pino } from "pino";
import { z } from "zod";
import { systemClock } from "#daemon/clock.ts";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { createConnectionMetrics } from "#daemon/http/connections/connection-metrics.ts";
import { addOperationsRoutes } from "#daemon/http/operations-listener.ts";
import { createRequestReports } from "#daemon/http/request-reports.ts";
import { createMetrics } from "#daemon/metrics.ts";
import { createRequestCounter } from "#engine-proxy/engine-proxy.ts";
import { createFacilitatorMetrics } from "#facilitator/facilitator-metrics.ts";
import { limitVerifications } from "#facilitator/http.ts";
import { type GaugeSources, registerGauges } from "#gateway/gauges.ts";
import { createGapCounter } from "#gateway/gateway.ts";
import { createDropCounter, createSlowPathCounter } from "#gateway/listener/listeners.ts";
import { createPrometheusMeter } from "#gateway/observe/call-metrics.ts";
import { createDiskMetrics } from "#health/disk-watch.ts";
import { watchEventLoop } from "#health/event-loop-watch.ts";
import { createHealthMetrics } from "#health/health-metrics.ts";
import { createLagGauge } from "#health/reference-watch.ts";
import { createChannelMetrics } from "#resource-server/channels/channel-metrics.ts";
import { createPaymentsInFlight } from "#resource-server/sale/claim-settlement.ts";
import { createPaymentMetrics } from "#resource-server/sale/payment-metrics.ts";
import { createVolumeGrowth, type VolumeGrowthDependencies } from "#sidecar/volume/volume-growth.ts";
import { createIterationMetrics, createUpkeepMetrics } from "#sidecar/upkeep/upkeep-metrics.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { showVerdict } from "#status/verdict-metric.ts";

const definition = z.object({
  name: z.string(),
  type: z.enum(["counter", "gauge", "histogram"]),
  help: z.string(),
  labelNames: z.array(z.string()),
});

/** A metric as a service registers it: its Prometheus type, its help text, and the labels that the service sets. */
export type MetricDefinition = Readonly<z.output<typeof definition>>;

const log = pino({ level: "silent" });
const clock = systemClock;
const readiness = () => ({ ready: true, checks: {} });

/** All of Gatehouse's own metrics, by the component that registers them, each by name. */
export const metricsByPart = {
  everyService: readDefinitions((registry) => {
    addOperationsRoutes(new Hono(), { metrics: registry, readiness });
    createActiveFiles(registry);
    createRequestReports({ log, metrics: registry });
    createConnectionMetrics(registry, { open: () => new Map(), max: () => 0 });
  }, createMetrics("catalogue")),
  node: readDefinitions((registry) => {
    const board = createConditionBoard({ log, metrics: registry, clock, events: createRecentEvents(clock) });
    showVerdict(registry, () => ({ level: "unknown", awaited: [] }));
    createUpkeepMetrics(registry);
    createIterationMetrics(registry);
    createHealthMetrics(registry);
    createLagGauge(registry);
    createDiskMetrics(registry);
    using _watch = watchEventLoop({ loopDelayMs: 1, loopDelayShare: 1 }, { clock, board, metrics: registry });
  }),
  gateway: readDefinitions((registry) => {
    createPrometheusMeter(registry);
    // Read at a scrape only.
    registerGauges(registry, { listeners: {} } as GaugeSources);
    createDropCounter(registry);
    createSlowPathCounter(registry);
    createGapCounter(registry);
  }),
  volume: readDefinitions((registry) => {
    createVolumeGrowth({ growBelowFreeRatio: 0, stepGibibytes: 1, ceilingGibibytes: 1, pauseMs: 0 }, {
      metrics: registry,
    } as VolumeGrowthDependencies);
  }),
  facilitator: readDefinitions((registry) => {
    createFacilitatorMetrics([registry]);
    limitVerifications({ inFlightMax: 1, networks: [] }, async () => undefined, { metrics: registry });
  }),
  resourceServer: readDefinitions((registry) => {
    createPaymentMetrics({ ledger: { count: async () => ({}) }, payments: createPaymentsInFlight(), registry });
    createChannelMetrics(registry);
  }),
  engineProxy: readDefinitions(createRequestCounter),
};

export const metricCatalogue: Readonly<Record<string, MetricDefinition>> = Object.assign(
  {},
  ...Object.values(metricsByPart),
);

/** Reads what a component's own functions register in an empty registry. */
function readDefinitions(
  register: (registry: Registry) => unknown,
  registry = new Registry(),
): Readonly<Record<string, MetricDefinition>> {
  register(registry);
  const all = z.array(definition).parse(registry.getMetricsAsArray());
  return Object.fromEntries(all.filter(({ name }) => name.startsWith("gatehouse_")).map((one) => [one.name, one]));
}
