import { accepts } from "hono/accepts";
import { Registry, Gauge, type Metric, type OpenMetricsContentType } from "prom-client";
import type { Logger } from "../log/log.ts";
import type { Mask } from "../secrets/mask.ts";
import type { ActiveFile } from "../files/active-files.ts";
import { openApiPath, operatorPaths } from "./operator-paths.ts";
import { createAllowedHostCheck, type AllowedHosts } from "./address.ts";
import { createApp, type App } from "./app.ts";
import { listenHttp, type DrainingListener, type ListenOptions } from "./listener.ts";
import type { Api } from "./open-api.ts";
import type { Readiness } from "./readiness.ts";

const plainType = "text/plain";

type OperationsSources = Readonly<{
  metrics: Registry;
  /** Whether `/metrics` includes exemplars for clients that request OpenMetrics. */
  hasExemplars?: boolean;
  readiness: () => Readiness;
  /** The service's active configuration; if absent, `/configuration` is not served. */
  configuration?: () => ActiveConfiguration;
}>;

/**
 * Serves `/livez`, `/readyz` and `/metrics` at a separate address, for a service whose other port is public. These requests are not
 * measured: the service's metrics cover only its own traffic.
 *
 * @throws {StartupError} when the port is in use or the address doesn't belong to this machine.
 */
export async function listenForOperations(
  options: ListenOptions & AllowedHosts,
  dependencies: OperationsSources &
    Readonly<{
      log: Logger;
      mask: Mask;
      api: () => Api | Promise<Api>;
      addPage?: (app: App, sources: OperationsSources) => void;
    }>,
): Promise<DrainingListener> {
  const { log, mask, api, addPage, ...sources } = dependencies;
  const hosts = { isAllowed: createAllowedHostCheck(options), setting: "operations.allowedHosts" };
  const app = createApp({ compressed: operatorPaths.metrics, hosts }, { log, mask });
  addOperationsRoutes(app, sources);
  addPage?.(app, sources);
  addOpenApiRoute(app, api);
  return listenHttp(app, options);
}

/**
 * Adds the operator routes of every service: `/livez` (the process runs), `/readyz` (it is ready for traffic; 503 with the reason if not;
 * `degraded` with 200 and the reason if a dependency that it can temporarily do without fails), `/metrics` (Prometheus text, or OpenMetrics
 * if there are exemplars) and `/configuration` (digests of its active settings and files).
 */
export function addOperationsRoutes(
  app: App,
  { metrics, hasExemplars = false, readiness, configuration }: OperationsSources,
): void {
  const checks: Gauge<"check"> = new Gauge({
    name: "gatehouse_ready_check",
    help: "Readiness check of /readyz: 1 passing, 0 failing.",
    labelNames: ["check"],
    registers: [metrics],
    collect() {
      checks.reset();
      for (const [check, { ok }] of Object.entries(readiness().checks)) checks.set({ check }, ok ? 1 : 0);
    },
  });
  app.get(operatorPaths.live, (c) => c.json({ status: "ok" }));
  app.get(operatorPaths.ready, (c) => {
    const state = readiness();
    if (!state.ready) return c.json({ status: "unready", checks: state.checks }, 503);
    const isReady = Object.values(state.checks).every(({ ok }) => ok);
    return c.json({ status: isReady ? "ok" : "degraded", checks: state.checks });
  });
  if (configuration !== undefined) app.get(operatorPaths.configuration, (c) => c.json(toDocument(configuration())));
  app.get(operatorPaths.metrics, async (c) => {
    const supports = [plainType, openMetricsType];
    if (hasExemplars && accepts(c, { header: "Accept", supports, default: plainType }) === openMetricsType) {
      const { text, contentType } = await renderOpenMetrics(metrics);
      return c.body(text, 200, { "Content-Type": contentType });
    }
    return c.body(await metrics.metrics(), 200, { "Content-Type": metrics.contentType });
  });
}

/** Adds `GET /openapi.json`, which describes the listener; loads the description with the first request, which few processes get. */
export function addOpenApiRoute(app: App, load: () => Api | Promise<Api>): void {
  let text: string | undefined;
  app.get(openApiPath, async (c) => {
    const { buildOpenApiDocument } = await import("./open-api.ts");
    text ??= JSON.stringify(buildOpenApiDocument(await load()));
    return c.body(text, 200, { "Content-Type": "application/json" });
  });
}

export type ActiveConfiguration = Readonly<{
  service: string;
  version: string;
  /** Digest of the environment at startup (`digestSettings`). */
  settingsSha256: string;
  files: readonly ActiveFile[];
}>;

/** Converts the configuration to JSON: joins a file's problems into one string. */
function toDocument({ files, ...configuration }: ActiveConfiguration): object {
  return {
    ...configuration,
    files: files.map(({ problems, ...file }) =>
      problems === undefined ? file : { ...file, rejected: problems.join(" ") },
    ),
  };
}

/** The media type of Prometheus's text format with exemplars. */
export const openMetricsType = "application/openmetrics-text";

/** A metric as prom-client serializes it; its declarations omit the type. */
type Written = Metric & Readonly<{ name: string; type: unknown }>;

/** Renders a registry as OpenMetrics, with exemplars. Its own `setContentType` would rename the counters of the plain format, too. */
export async function renderOpenMetrics(metrics: Registry): Promise<Readonly<{ text: string; contentType: string }>> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of metrics.getMetricsAsArray() as unknown as readonly Written[]) {
    open.registerMetric(metric.type === "counter" ? nameByFamily(metric) : metric);
  }
  return { text: await open.metrics(), contentType: open.contentType };
}

/** Renames a counter to its family name: OpenMetrics treats `_total` as a suffix, which prom-client adds again. */
function nameByFamily(counter: Written): Metric {
  const get = async () => {
    const values = await counter.get();
    return { ...values, name: values.name.replace(/_total$/, "") };
  };
  return { name: counter.name, get } as unknown as Metric;
}
