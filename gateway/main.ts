import { listenHttp } from "#daemon/http/listener.ts";
import type { Service, ServiceContext } from "#daemon/service.ts";
import { addOpenApiRoute } from "#daemon/http/open-api.ts";
import { findChainTraits } from "#daemon/chain-traits.ts";
import { systemClock } from "#daemon/clock.ts";
import { createSettingNames } from "./settings/names.ts";
import { guardNode } from "./guarded-node.ts";
import { describeNodeStatus } from "#health/node-status.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { gatewayApi } from "./gateway-api.ts";
import { gatewaySettings, type GatewayAloneSettings } from "./settings.ts";

/** The gateway before any EVM node: its RPC is watched and guarded, and nothing else of the node is touched. */
export const gateway: Service<typeof gatewaySettings.schema> = { definition: gatewaySettings, start };

async function start(settings: GatewayAloneSettings, context: ServiceContext) {
  const { node, health, lag, certificate, listen, log: _, shutdown: __, ...own } = settings;
  const { httpUrl, chainId, webSocketUrl = httpUrl.replace(/^http/, "ws") } = node;
  const { batchCallsMax } = findChainTraits(chainId);
  const clock = systemClock;
  const events = createRecentEvents(clock);
  const names = createSettingNames(gatewaySettings.service);
  const guarded = await guardNode(
    { node: { httpUrl, webSocketUrl, chainId, batchCallsMax }, health, lag, certificate, listen, gateway: own },
    { context, clock, events, settingNames: names },
  );
  const { board, charts, operations, urls } = guarded;
  const shownNode = { name: new URL(httpUrl).host, httpUrl };
  const sources = { board, health: guarded.health.current, clock };
  operations.get("/status", (c) =>
    c.json(
      { ...describeNodeStatus(shownNode, sources), events: events.list(), charts: { heights: charts.heights.list() } },
      200,
      {
        "Cache-Control": "no-store",
      },
    ),
  );
  addOpenApiRoute(operations, gatewayApi);
  const listener = context.resources.use(
    await listenHttp(operations, {
      ...listen,
      setting: names.variable("listen.port"),
      connections: guarded.operatorConnections,
    }),
  );
  return { urls: { operations: listener.url, ...urls } };
}
