import { listenHttp } from "#daemon/http/listener.ts";
import type { Service, ServiceContext } from "#daemon/service.ts";
import type { Api } from "#daemon/http/open-api.ts";
import { addOpenApiRoute } from "#daemon/http/operations-listener.ts";
import { findChainTraits } from "#daemon/chain-traits.ts";
import { systemClock } from "#daemon/clock.ts";
import { createSettingNames } from "./settings/names.ts";
import { startGatewayForNode, listGuardedConditions } from "./guarded-node.ts";
import { deriveVerdict } from "#status/verdict.ts";
import { addAssets } from "#status/page/static-routes.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { describeNodePage } from "./page/node-page.ts";
import { createPageState, watchPageState } from "./page/page-state.ts";
import { gatewaySettings, type StandaloneGatewaySettings } from "./settings.ts";
import { operationsApi } from "#daemon/http/operations-api.ts";
import { describeStatusOperation, nodePageShape, pageOperation } from "#status/status-api.ts";

/** The gateway in front of any EVM node: watches and guards the node's RPC, and leaves the rest of the node alone. */
export const gateway: Service<typeof gatewaySettings.schema> = { definition: gatewaySettings, start };

/** Figures that exist only in a sidecar. */
const noFigures = { restarts: undefined, disk: undefined };

async function start(settings: StandaloneGatewaySettings, context: ServiceContext) {
  const { node, health, lag, listen, log: _, shutdown: __, ...own } = settings;
  const { httpUrl, chainId, webSocketUrl = httpUrl.replace(/^http/, "ws") } = node;
  const { batchCallsMax } = findChainTraits(chainId);
  const clock = systemClock;
  const events = createRecentEvents(clock);
  const names = createSettingNames(gatewaySettings.service);
  const guardedNode = await startGatewayForNode(
    { node: { httpUrl, webSocketUrl, chainId, batchCallsMax }, health, lag, listen, gateway: own },
    { context, clock, events, settingNames: names },
  );
  const { board, charts, operations, traffic, urls } = guardedNode;
  const watchedConditions = listGuardedConditions(settings);
  const sources = { board, charts, traffic, clock, health: guardedNode.health.current, pruningOldAfterMs: 0 };
  const judgedSources = { ...sources, verdict: () => deriveVerdict(board.list(), watchedConditions) };
  const state = createPageState(judgedSources);
  context.resources.use(watchPageState(state, context));
  const page = { name: new URL(httpUrl).host, httpUrl, service: "gateway", pages: listen.pages } as const;
  const options = { ...page, blockOldAfterMs: health.staleAfterMs };
  const shown = { ...judgedSources, events, state, figures: () => noFigures, advise: () => ({ steps: [] }) };
  operations.get("/status", (c) => {
    const status = describeNodePage(options, shown);
    return c.json({ ...status, charts: { heights: charts.heights.list() } }, 200, { "Cache-Control": "no-store" });
  });
  addAssets(operations, "status/page/assets");
  addOpenApiRoute(operations, () => gatewayApi);
  const listener = context.resources.use(
    await listenHttp(operations, {
      ...listen,
      setting: names.variable("listen.port"),
      connections: guardedNode.operatorConnections,
    }),
  );
  return { urls: { operations: listener.url, ...urls }, announced: { url: listener.url } };
}

/** API of a standalone gateway's operations listener. The gateway's RPC describes itself through `rpc.discover`. */
export const gatewayApi: Api = {
  title: "Gatehouse gateway",
  description:
    "Status of a node as seen by its gateway. For operators; rpc.discover (OpenRPC) describes the RPC itself.",
  operations: [...operationsApi, describeStatusOperation(nodePageShape), pageOperation],
};
