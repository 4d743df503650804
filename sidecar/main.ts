import { hostname } from "node:os";
import { listenHttp } from "#daemon/http/listener.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Service, ServiceContext } from "#daemon/service.ts";
import { systemClock } from "#daemon/clock.ts";
import { settingNames } from "#gateway/settings/names.ts";
import { guardNode } from "#gateway/guarded-node.ts";
import { sendRequest } from "#daemon/http/request.ts";
import { watchNodeStorage } from "./node-storage.ts";
import { sidecarSettings, type SidecarSettings } from "./settings.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { showVerdict } from "#status/verdict-metric.ts";
import { statusRoutes } from "./page/status-routes.ts";
import { verdictOf } from "#status/verdict.ts";
import { guardedControlRoutes } from "./upkeep/control/control-routes.ts";
import { listenControl } from "./upkeep/control/listen-control.ts";
import { claimState } from "./upkeep/claim/claim-state.ts";
import { storedEventLog } from "./upkeep/state/stored-event-log.ts";
import { startUpkeep, type Upkeep } from "./upkeep/upkeep.ts";
import { watchedSides } from "./watched-sides.ts";

/** What `/startupz` answers before the upkeep has begun. */
const starting: ReadinessCheck = { ok: false, message: "The sidecar is starting." };

/** The sidecar of one node: keeps it right and guards its RPC. */
export const sidecar: Service<typeof sidecarSettings.schema> = { definition: sidecarSettings, start };

async function start(settings: SidecarSettings, context: ServiceContext) {
  const { log, metrics, mask, resources, finishes } = context;
  const clock = systemClock;
  const state = resources.use(await claimState(settings, context));
  const events = storedEventLog(state.store, clock);
  const names = settingNames(sidecarSettings.service, "gateway");
  const guarded = await guardNode(settings, { context, clock, events, settingNames: names });
  const { board, charts, health, operations } = guarded;
  // The listener comes before the upkeep, so that a taken port is named before anything is done to the node.
  let upkeep: Upkeep | undefined;
  const status = {
    name: settings.monitor.jobName ?? hostname(),
    httpUrl: settings.node.httpUrl,
    mode: settings.upkeep.mode,
    stillAfterMs: { heights: settings.health.staleAfterMs, pruning: settings.prune.stalledAfterMs },
  };
  const configured = () => upkeep?.configured() ?? starting;
  const plan = () => upkeep?.control.look().plan;
  const scope = { mode: settings.upkeep.mode, watched: watchedSides(settings) };
  const verdict = () => verdictOf(board.list(), scope);
  showVerdict(metrics, verdict);
  const told = { board, events, health: health.current, charts, clock, configured, plan, verdict };
  statusRoutes(operations, status, told);
  pageRoutes(operations);
  const { controlToken } = settings.upkeep;
  if (controlToken !== undefined) guardedControlRoutes(operations, () => upkeep?.control, controlToken);
  const setting = "GATEHOUSE_SIDECAR_LISTEN_PORT";
  const listener = resources.use(
    await listenHttp(operations, { ...settings.listen, setting, connections: guarded.operatorConnections }),
  );
  upkeep = resources.use(
    startUpkeep(settings, { log, metrics, clock, ask: sendRequest, state, events, board, charts, health, finishes }),
  );
  resources.use(watchNodeStorage(settings, { upkeep, state, board, events, metrics, clock, log }));
  resources.use(await listenControl(state.directory, upkeep.control, { log, mask }));
  return { urls: { sidecar: listener.url, ...guarded.urls } };
}
