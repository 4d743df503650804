import { hostname } from "node:os";
import { createApp } from "#daemon/http-app.ts";
import { listenHttp } from "#daemon/http-listener.ts";
import { operationsRoutes } from "#daemon/operations-routes.ts";
import type { ReadinessCheck } from "#daemon/readiness.ts";
import type { Service, ServiceContext } from "#daemon/service.ts";
import { systemClock } from "./clock.ts";
import { startGateway, type GatewayUrls } from "./gateway/gateway.ts";
import { startHealth } from "./health/health.ts";
import { askHttp } from "./http-ask.ts";
import { nodeFitness } from "./node-fitness.ts";
import { nodeReadiness } from "./node-readiness.ts";
import { sidecarSettings, type SidecarSettings } from "./settings.ts";
import { createCharts } from "./tell/charts.ts";
import { createConditionBoard } from "./tell/condition-board.ts";
import { pageRoutes } from "./tell/page-routes.ts";
import { statusRoutes } from "./tell/status-routes.ts";
import { guardedControlRoutes } from "./upkeep/control/control-routes.ts";
import { listenControl } from "./upkeep/control/listen-control.ts";
import { claimState } from "./upkeep/state/claim-state.ts";
import { storedEventLog } from "./upkeep/state/stored-event-log.ts";
import { startUpkeep, type Upkeep } from "./upkeep/upkeep.ts";

/** Bodies that the operations listener takes; none of its routes needs one. */
const bodyLimitBytes = 1_024;

/** What `/startupz` answers before the upkeep has begun. */
const starting: ReadinessCheck = { ok: false, message: "The sidecar is starting." };

/** The sidecar of one node: keeps it right and guards its RPC. */
export const sidecar: Service<typeof sidecarSettings.schema> = { definition: sidecarSettings, start };

async function start(settings: SidecarSettings, context: ServiceContext) {
  const { log, metrics, resources } = context;
  const clock = systemClock;
  const state = resources.use(await claimState(settings, context));
  const events = storedEventLog(state.database, clock);
  const board = createConditionBoard({ log, metrics, clock, events });
  const charts = createCharts();
  const health = resources.use(startHealth(settings, { log, metrics, clock, ask: askHttp, board, charts }));
  const gateway = resources.use(
    await startGateway(settings.gateway, {
      log,
      metrics,
      node: {
        ...settings.node,
        fitness: () => nodeFitness({ hasReferences: settings.lag.references.length > 0 }, { board, clock }),
      },
      signal: context.signal,
    }),
  );
  // The listener comes before the upkeep, so that a taken port is named before anything is done to the node.
  let upkeep: Upkeep | undefined;
  const app = createApp({ bodyLimitBytes }, { log, metrics });
  operationsRoutes(app, { metrics, readiness: () => nodeReadiness(board, gateway.readiness) });
  const status = {
    name: settings.monitor.jobName ?? hostname(),
    httpUrl: settings.node.httpUrl,
    mode: settings.upkeep.mode,
    stillAfterMs: { heights: settings.health.staleAfterMs, pruning: settings.prune.stalledAfterMs },
  };
  const configured = () => upkeep?.configured() ?? starting;
  const plan = () => upkeep?.control.look().plan;
  statusRoutes(app, status, { board, events, health: health.current, charts, clock, configured, plan });
  pageRoutes(app);
  const { controlToken } = settings.upkeep;
  if (controlToken !== undefined) guardedControlRoutes(app, () => upkeep?.control, controlToken);
  const setting = "GATEHOUSE_SIDECAR_LISTEN_PORT";
  const listener = resources.use(await listenHttp(app, { ...settings.listen, setting }));
  upkeep = resources.use(
    startUpkeep(settings, { log, metrics, clock, ask: askHttp, state, events, board, charts, health }),
  );
  resources.use(await listenControl(state.directory, upkeep.control, { log }));
  return { urls: { sidecar: listener.url, ...namedListeners(gateway.urls) } };
}

/** The gateway's URLs as the sidecar announces them: `gateway` for the public one, `gateway-private`, `gateway-internal`. */
function namedListeners(urls: GatewayUrls): Record<string, string> {
  return Object.fromEntries(
    Object.entries(urls).map(([name, url]) => [name === "public" ? "gateway" : `gateway-${name}`, url]),
  );
}
