import { allowedHost, type AllowedHosts } from "#daemon/http/allowed-host.ts";
import type { ListenerConnections } from "#daemon/http/connections/listener-connections.ts";
import { createApp, type App } from "#daemon/http/app.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { Clock } from "#daemon/clock.ts";
import { gatewayCondition } from "./gateway-condition.ts";
import { startGateway, type GatewayUrls } from "./gateway.ts";
import type { SettingNames } from "./settings/names.ts";
import type { GatewaySettings } from "./settings/gateway.ts";
import { watchDescriptors } from "#health/descriptor-watch.ts";
import { watchEventLoop } from "#health/event-loop-watch.ts";
import { startHealth, type Health, type WatchedNode } from "#health/health.ts";
import { sendRequest } from "#daemon/http/request.ts";
import { nodeFitness } from "./node-fitness.ts";
import { nodeReadiness } from "#status/node-readiness.ts";
import { poll } from "#daemon/time.ts";
import { createCharts, type Charts } from "#status/charts.ts";
import { createConditionBoard, type ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import { processConnections } from "#daemon/http/connections/connection-budget.ts";
import { operationsRoutes } from "#daemon/http/operations-listener.ts";

/** Bodies that the operations listener takes; none of its routes needs one. */
const bodyLimitBytes = 1_024;

/** Time between two looks at whether the gateway serves; it is looked at for each `/readyz`, too. */
const gatewayIntervalMs = 250;

/** Which node is watched, and how its gateway is. */
export type GuardedNodeSettings = WatchedNode & Readonly<{ gateway: GatewaySettings; listen: AllowedHosts }>;

/** What guarding a node takes. */
export type GuardedNodeDependencies = Readonly<{
  context: ServiceContext;
  clock: Clock;
  events: EventLog;
  settingNames: SettingNames;
}>;

/** A node under watch, with the gateway before it. */
export type GuardedNode = Readonly<{
  board: ConditionBoard;
  charts: Charts;
  health: Health;
  /** The gateway's URLs: `gateway` for the public one, `gateway-private`, `gateway-internal`. */
  urls: Readonly<Record<string, string>>;
  /** Answers `/livez`, `/readyz` and `/metrics`; the service adds its own routes and listens. */
  operations: App;
  /** The connections of the listener that `operations` is served on. */
  operatorConnections: ListenerConnections;
}>;

/**
 * Watches a node's RPC and puts the gateway before it: what the sidecar and `gatehouse gateway` have in common. All of it ends with the
 * service's resources.
 *
 * @throws {StartupError} when a gateway's port is taken or a file that settings name can't be used.
 */
export async function guardNode(
  settings: GuardedNodeSettings,
  { context, clock, events, settingNames }: GuardedNodeDependencies,
): Promise<GuardedNode> {
  const { log, metrics, files, mask, resources, signal } = context;
  const board = createConditionBoard({ log, metrics, clock, events });
  const charts = createCharts();
  const eventLoop = resources.use(watchEventLoop({ clock, board, metrics }));
  const health = resources.use(
    startHealth(settings, { log, metrics, clock, ask: sendRequest, board, charts, eventLoop }),
  );
  const hasReferences = settings.lag.references.length > 0;
  const { httpUrl, webSocketUrl } = settings.node;
  const fitness = () => nodeFitness({ hasReferences }, { facts: health.facts(), clock });
  const node = { httpUrl, webSocketUrl, fitness };
  const connections = resources.use(processConnections(settings.gateway.listener, { metrics }));
  const setting = {
    connections: settingNames.key("listener.connections"),
    connectionsPerAddress: settingNames.key("listener.connectionsPerAddress"),
  };
  resources.use(watchDescriptors(connections.state, { board, log, setting }));
  const gateway = resources.use(
    await startGateway(settings.gateway, { log, metrics, node, settingNames, files, connections }),
  );
  const operations = createApp({ bodyLimitBytes, isAllowedHost: allowedHost(settings.listen) }, { log, metrics, mask });
  const setGatewayCondition = () => {
    // Before the node was asked once, nothing can be said of what stands before it.
    if (health.facts().rpc === undefined) return;
    board.set(gatewayCondition(gateway.readiness(), { fitness: fitness(), facts: health.facts() }));
  };
  const telling = poll(
    { name: "gateway", intervalMs: gatewayIntervalMs, signal },
    () => Promise.resolve(setGatewayCondition()),
    { log },
  );
  resources.defer(() => telling);
  const readiness = () => {
    setGatewayCondition();
    return nodeReadiness(board);
  };
  operationsRoutes(operations, { metrics, readiness, configuration: context.configuration });
  const urls = namedListeners(gateway.urls);
  return { board, charts, health, urls, operations, operatorConnections: connections.operators() };
}

function namedListeners(urls: GatewayUrls): Record<string, string> {
  return Object.fromEntries(
    Object.entries(urls).map(([name, url]) => [name === "public" ? "gateway" : `gateway-${name}`, url]),
  );
}
