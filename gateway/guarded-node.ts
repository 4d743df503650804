import { createAllowedHostCheck, type AllowedHosts } from "#daemon/http/address.ts";
import type { ListenerConnections } from "#daemon/http/connections/listener-connections.ts";
import { createApp, type App } from "#daemon/http/app.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { Clock } from "#daemon/clock.ts";
import { watchDescriptors } from "#health/descriptor-watch.ts";
import { watchEventLoop } from "#health/event-loop-watch.ts";
import { startHealth, type Health, type WatchedNode } from "#health/health.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { readNodeReadiness } from "#status/node-readiness.ts";
import { pauseWhileRunning } from "#daemon/time.ts";
import { createCharts, type Charts } from "#status/charts.ts";
import { createConditionBoard, type ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import { pollCheck } from "#status/failed-check.ts";
import { limitProcessConnections } from "#daemon/http/connections/connection-budget.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { addOperationsRoutes } from "#daemon/http/operations-listener.ts";
import { isResponding, type NodeInfo } from "#health/rpc-state.ts";
import type { ConditionType } from "#status/condition.ts";
import { watchCalls } from "./calls-watch.ts";
import {
  deriveFilesCondition,
  deriveGatewayCondition,
  evaluateNodeFitness,
  isNodeUnfit,
  silenceThresholdMs,
} from "./gateway-conditions.ts";
import { startGateway, type Gateway } from "./gateway.ts";
import type { SettingNames } from "./settings/names.ts";
import type { GatewaySettings } from "./settings/sections.ts";
import type { NodeFitness } from "./chain/chain-head.ts";
import type { Traffic } from "./observe/meter.ts";

/** Interval between gateway readiness checks; each `/readyz` request checks too. */
const gatewayIntervalMs = 250;

export type GuardedNodeSettings = WatchedNode &
  Readonly<{ node: Readonly<{ batchCallsMax?: number | undefined }> }> &
  Readonly<{ gateway: GatewaySettings; listen: AllowedHosts }>;

export type GuardedNodeDependencies = Readonly<{
  context: ServiceContext;
  clock: Clock;
  events: EventLog;
  settingNames: SettingNames;
}>;

/** Lists the guarded node's conditions that the settings enable; each is first checked soon after the start. */
export function listGuardedConditions({
  health,
  lag,
}: Pick<GuardedNodeSettings, "health" | "lag">): readonly ConditionType[] {
  return [
    "RpcResponding",
    "ChainIdMatches",
    "HeightAdvancing",
    ...(lag.references.length > 0 ? (["NodeSynced"] as const) : []),
    ...(health.webSocket ? (["WebSocketResponding"] as const) : []),
    "GatewayServing",
  ];
}

export type GuardedNode = Readonly<{
  board: ConditionBoard;
  charts: Charts;
  health: Health;
  /** The gateway's URLs: `gateway` for the public listener, `gateway-private` and `gateway-internal` for the others. */
  urls: Readonly<Record<string, string>>;
  traffic: () => Promise<Traffic>;
  /** Serves `/livez`, `/readyz` and `/metrics`. The service adds its own routes and starts listening. */
  operations: App;
  operatorConnections: ListenerConnections;
}>;

/**
 * Watches a node's RPC and puts the gateway in front of it: the part that the sidecar and `gatehouse gateway` share. Everything it starts
 * ends with the service's resources.
 *
 * @throws {StartupError} when a gateway's port is in use or a file listed in the settings can't be used.
 */
export async function startGatewayForNode(
  settings: GuardedNodeSettings,
  { context, clock, events, settingNames }: GuardedNodeDependencies,
): Promise<GuardedNode> {
  const { log, metrics, files, mask, resources, signal } = context;
  const board = createConditionBoard({ log, metrics, clock, events });
  const charts = createCharts();
  const eventLoop = resources.use(watchEventLoop(settings.health, { clock, board, metrics }));
  const hasReferences = settings.lag.references.length > 0;
  // Calls read this value; it changes only when a watch reports something, or when the node stops responding.
  const fitness: { current: NodeFitness } = { current: "chainUnknown" };
  const factsChanged = (facts: NodeInfo) => {
    fitness.current = evaluateNodeFitness(facts, { hasReferences, nowMs: clock.monotonicMs() });
  };
  const health = resources.use(
    startHealth(settings, { log, metrics, clock, send: sendRequest, board, charts, eventLoop, factsChanged }),
  );
  const linkOpened = () => {
    health
      .check(signal)
      .catch((err: unknown) => log.error({ event: "node-check-failed", err }, "the node could not be checked"));
  };
  const node = { ...settings.node, fitness, linkOpened };
  const connections = resources.use(limitProcessConnections(settings.gateway.listener, { metrics }));
  const setting = {
    connections: settingNames.key("listener.connections"),
    connectionsPerAddress: settingNames.key("listener.connectionsPerAddress"),
  };
  // Ensures that callers of a healthy node are served from the start.
  await waitForFirstCheck(health, { timeoutMs: settings.health.timeoutMs, signal });
  const gateway = resources.use(
    await startGateway(settings.gateway, { log, metrics, node, eventLoop, settingNames, files, connections }),
  );
  // Watches the descriptors only once there are listeners, because the limit is zero before.
  resources.use(watchDescriptors(connections.state, { board, log, setting }));
  const hosts = { isAllowed: createAllowedHostCheck(settings.listen), setting: "listen.allowedHosts" };
  const operations = createApp({ compressed: operatorPaths.metrics, hosts }, { log, metrics, mask });
  // Counts only the time during which this process ran: if the head aged while the process was suspended, that is not the node's fault.
  let servedMs = health.ranMs();
  const setGatewayCondition = () => {
    factsChanged(health.facts());
    const filesCondition = deriveFilesCondition(files.list());
    if (filesCondition !== undefined) board.set(filesCondition);
    // Until the node has been queried once, nothing is known about the gateway in front of it.
    if (health.facts().rpc === undefined) return;
    const readiness = gateway.readiness();
    const now = health.ranMs();
    // A late head is the gateway's fault only while the node is healthy.
    if (readiness.ok || isNodeUnfit(fitness.current, health.facts())) servedMs = now;
    const isLate = now - servedMs >= silenceThresholdMs;
    board.set(deriveGatewayCondition(readiness, { fitness: fitness.current, facts: health.facts(), isLate }));
  };
  let wasOnOtherChain = false;
  const report = async () => {
    const isOnOtherChain = fitness.current === "anotherChain";
    if (isOnOtherChain && !wasOnOtherChain) gateway.disown();
    wasOnOtherChain = isOnOtherChain;
    setGatewayCondition();
  };
  const check = { name: "gateway", what: "The check of the gateway", intervalMs: gatewayIntervalMs, signal };
  resources.use(pollCheck({ ...check, types: ["GatewayServing", "FilesLoaded"] }, report, { board, log }));
  const isServing = () => gateway.readiness().ok && fitness.current !== "down" && isResponding(health.facts());
  const callsWatch = watchCalls({ traffic: gateway.traffic, isServing, board, clock, log, signal });
  resources.defer(() => callsWatch);
  const readiness = () => {
    setGatewayCondition();
    return readNodeReadiness(board);
  };
  const hasExemplars = settings.gateway.tracing.otlpUrl !== undefined;
  addOperationsRoutes(operations, { metrics, hasExemplars, readiness, configuration: context.configuration });
  const operatorConnections = connections.operators();
  const urls = nameListeners(gateway.urls);
  return { board, charts, health, urls, traffic: gateway.traffic, operations, operatorConnections };
}

/** Max time that startup waits for a node that does not respond, regardless of the query timeout. */
const firstCheckTimeoutMs = 2_000;

/** Waits until the node has been checked or a query has timed out: calls are rejected until the node's chain is known. */
async function waitForFirstCheck(
  { firstCheckDone }: Pick<Health, "firstCheckDone">,
  { timeoutMs, signal }: Readonly<{ timeoutMs: number; signal: AbortSignal }>,
): Promise<void> {
  const over = new AbortController();
  void firstCheckDone.then(() => over.abort());
  await pauseWhileRunning(Math.min(timeoutMs, firstCheckTimeoutMs), AbortSignal.any([signal, over.signal]));
}

function nameListeners(urls: Gateway["urls"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(urls).map(([name, url]) => [name === "public" ? "gateway" : `gateway-${name}`, url]),
  );
}
