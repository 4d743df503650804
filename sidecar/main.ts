import { createAuditLog } from "#daemon/audit/audit-log.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import type { Service, ServiceContext } from "#daemon/service.ts";
import { systemClock } from "#daemon/clock.ts";
import { addOpenApiRoute } from "#daemon/http/operations-listener.ts";
import { createSettingNames } from "#gateway/settings/names.ts";
import { startGatewayForNode, listGuardedConditions } from "#gateway/guarded-node.ts";
import { resolveNodeLayout } from "#node/layout.ts";
import { withNodeNamesInLog } from "#node/node-names.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { showVerdict } from "#status/verdict-metric.ts";
import { deriveVerdict } from "#status/verdict.ts";
import type { ConditionType } from "#status/condition.ts";
import { watchNodeStorage } from "./node-storage.ts";
import { sidecarSettings, type SidecarSettings } from "./settings.ts";
import { startPage } from "./page/start-page.ts";
import { watchReleases, type ReleaseWatch } from "./releases/release-watch.ts";
import { addGuardedControlRoutes, listenForControl } from "./upkeep/control/listen-control.ts";
import { claimState } from "./upkeep/claim/claim-state.ts";
import { auditEvents, createStoredEventLog } from "./upkeep/state/stored-event-log.ts";
import { startUpkeep, type Upkeep } from "./upkeep/upkeep.ts";

/** The sidecar for one node: maintains its configuration and guards its RPC. */
export const sidecar: Service<typeof sidecarSettings.schema> = { definition: sidecarSettings, start };

async function start(settings: SidecarSettings, context: ServiceContext) {
  const { metrics, mask, resources, finishes, files } = context;
  let upkeep: Upkeep | undefined;
  const log = withNodeNamesInLog(context.log, () => upkeep?.places() ?? resolveNodeLayout(settings.node));
  const clock = systemClock;
  const state = resources.use(await claimState(settings, context));
  const events = auditEvents(createStoredEventLog(state.store, clock), createAuditLog(log));
  const names = createSettingNames(sidecarSettings.service, "gateway");
  const { batchCallsMax } = resolveNodeLayout(settings.node).family.chain;
  const guardedNode = { ...settings, node: { ...settings.node, batchCallsMax } };
  const guarded = await startGatewayForNode(guardedNode, { context, clock, events, settingNames: names });
  const { board, charts, health, operations } = guarded;
  // The listener starts before the upkeep, so that a port conflict is reported before the sidecar touches the node.
  let releases: ReleaseWatch | undefined;
  const watchedConditions = listWatchedConditions(settings);
  const verdict = () => deriveVerdict(board.list(), watchedConditions);
  showVerdict(metrics, verdict);
  let url: string | undefined;
  const { directory: stateDirectory } = state;
  const pageParts = { guarded, events, verdict, upkeep: () => upkeep, url: () => url, stateDirectory, clock, log };
  const page = resources.use(startPage(settings, pageParts));
  const { controlToken } = settings.upkeep;
  if (controlToken !== undefined) addGuardedControlRoutes(operations, () => upkeep?.control, controlToken);
  addOpenApiRoute(operations, async () => {
    const { describeSidecarApi } = await import("./sidecar-api.ts");
    return describeSidecarApi({ isControlled: controlToken !== undefined });
  });
  const setting = "GATEHOUSE_SIDECAR_LISTEN_PORT";
  const listener = resources.use(
    await listenHttp(operations, { ...settings.listen, setting, connections: guarded.operatorConnections }),
  );
  ({ url } = listener);
  const keptResources = new AsyncDisposableStack();
  let resourcesEnd: Promise<void> | undefined;
  const endResources = () => (resourcesEnd ??= keptResources.disposeAsync());
  resources.defer(endResources);
  const listedCommits = () => releases?.commits() ?? {};
  const commonParts = { log, metrics, clock, send: sendRequest, state, events, board, charts, health, finishes };
  const kept = keptResources.use(await startUpkeep(settings, { ...commonParts, listedCommits }));
  upkeep = kept;
  const { onCheck } = page;
  keptResources.use(
    await watchNodeStorage(settings, { upkeep: kept, state, board, onCheck, events, metrics, clock, log }),
  );
  const { program, places } = kept;
  releases = keptResources.use(
    await watchReleases(settings, { program, places, stateDirectory, health, files, board, clock, log }),
  );
  keptResources.use(await listenForControl(state.directory, kept.control, { log, mask }));
  context.yields(async () => {
    // From now on, responses report that the sidecar is starting; a retry reaches the next process.
    upkeep = undefined;
    await endResources();
    state.release();
  });
  return { urls: { sidecar: listener.url, ...guarded.urls }, announced: { url: listener.url, stateDirectory } };
}

function listWatchedConditions({ pushgateway, upgrade, ...guarded }: SidecarSettings): readonly ConditionType[] {
  return [
    ...listGuardedConditions(guarded),
    "Reconciling",
    "ConfigReconciled",
    "VersionConsistent",
    ...listIf((upgrade.releasesPath ?? upgrade.releasesUrl) !== undefined, "VersionSupported"),
    "Pruning",
    ...listIf(pushgateway.url !== undefined, "MetricsArriving"),
    "DiskSpaceSufficient",
    "NoRestartPending",
  ];
}

function listIf(isWatched: boolean, type: ConditionType): readonly ConditionType[] {
  return isWatched ? [type] : [];
}
