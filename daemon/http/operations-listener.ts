import { accepts } from "hono/accepts";
import { type Registry, Gauge } from "prom-client";
import type { Logger } from "../log/log.ts";
import type { Mask } from "../secrets/mask.ts";
import type { FileInForce } from "../files/files-in-force.ts";
import { operatorPaths } from "../stack-services.ts";
import { createAllowedHostCheck, type AllowedHosts } from "./address.ts";
import { createApp, type App } from "./app.ts";
import { listenHttp, type LeavingListener, type ListenOptions } from "./listener.ts";
import { addOpenApiRoute, type Api } from "./open-api.ts";
import { openMetricsType, renderOpenMetrics } from "./open-metrics.ts";
import type { Readiness } from "./readiness.ts";

/** Bodies that the listener takes; none of its routes needs one. */
const bodyLimitBytes = 1_024;
const plainType = "text/plain";

/** Sources of what the listener for operators answers. */
type OperationsSources = Readonly<{
  metrics: Registry;
  /** Whether `/metrics` has exemplars for whoever requests OpenMetrics. */
  hasExemplars?: boolean;
  readiness: () => Readiness;
  /** Absent: there is no `/configuration`. */
  configuration?: () => ConfigurationInUse;
}>;

/**
 * Serves `/livez`, `/readyz` and `/metrics` at their own address, for a service whose other port is for the public. Requests here
 * are not measured: the service's own series stay about its own traffic.
 *
 * @throws {StartupError} when the port is taken or the address is not this machine's.
 */
export async function listenForOperations(
  options: ListenOptions & AllowedHosts,
  {
    log,
    mask,
    api,
    addPage,
    ...sources
  }: OperationsSources &
    Readonly<{
      log: Logger;
      mask: Mask;
      /** Description that it serves at `/openapi.json`. */ api: Api;
      /** Adds the service's page. */ addPage?: (app: App, sources: OperationsSources) => void;
    }>,
): Promise<LeavingListener> {
  const app = createApp(
    { bodyLimitBytes, compressed: operatorPaths.metrics, isAllowedHost: createAllowedHostCheck(options) },
    { log, mask },
  );
  addOperationsRoutes(app, sources);
  addPage?.(app, sources);
  addOpenApiRoute(app, api);
  return listenHttp(app, options);
}

/**
 * Adds what an operator's tools read from every service: `/livez` (the process runs), `/readyz` (it is fit for traffic; 503 with the
 * reason when not; `degraded` with 200 and the reason where something that it can do without for a while fails), `/metrics` (Prometheus text, or OpenMetrics where there are exemplars) and
 * `/configuration` (digests of the settings and files that it runs with).
 */
export function addOperationsRoutes(
  app: App,
  { metrics, hasExemplars = false, readiness, configuration }: OperationsSources,
): void {
  const checks: Gauge<"check"> = new Gauge({
    name: "gatehouse_ready_check",
    help: "What /readyz looks at: 1 where it is right, 0 where it is not.",
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
    const isWhole = Object.values(state.checks).every(({ ok }) => ok);
    return c.json({ status: isWhole ? "ok" : "degraded", checks: state.checks });
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

/** Settings and files that a running service uses, to be compared with those of its deployment. */
export type ConfigurationInUse = Readonly<{
  service: string;
  version: string;
  /** Digest of the environment that it was started with (`digestSettings`). */
  settingsSha256: string;
  /** The files that it reads again as they change. */
  files: readonly FileInForce[];
}>;

/** Converts the configuration to JSON: the problems of a file become one text. */
function toDocument({ files, ...configuration }: ConfigurationInUse): object {
  return {
    ...configuration,
    files: files.map(({ problems, ...file }) =>
      problems === undefined ? file : { ...file, refused: problems.join(" ") },
    ),
  };
}
