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
import { poll, pauseWhileRunning } from "#daemon/time.ts";
import { createCharts, type Charts } from "#status/charts.ts";
import { createConditionBoard, type ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import { reportFailedLook, type WatchedLook } from "#status/failed-look.ts";
import { boundProcessConnections } from "#daemon/http/connections/connection-budget.ts";
import { operatorPaths } from "#daemon/stack-services.ts";
import { addOperationsRoutes } from "#daemon/http/operations-listener.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { isAnswering, type NodeFacts } from "#health/node-health.ts";
import type { ConditionReport, ConditionType } from "#status/condition.ts";
import { watchCalls } from "./calls-watch.ts";
import { deriveFilesCondition } from "./files-condition.ts";
import { startGateway, type Gateway, type GatewayUrls } from "./gateway.ts";
import type { SettingNames } from "./settings/names.ts";
import type { GatewaySettings } from "./settings/gateway.ts";
import type { NodeFitness } from "./chain/head.ts";
import type { Traffic } from "./observe/traffic.ts";

/** Bodies that the operations listener takes; none of its routes needs one. */
const bodyLimitBytes = 1_024;

/** Time between two looks at whether the gateway serves; each `/readyz` looks as well. */
const gatewayIntervalMs = 250;

/** Settings of the watched node and of its gateway. */
export type GuardedNodeSettings = WatchedNode &
  Readonly<{ node: Readonly<{ batchCallsMax?: number | undefined }> }> &
  Readonly<{ gateway: GatewaySettings; listen: AllowedHosts }>;

export type GuardedNodeDependencies = Readonly<{
  context: ServiceContext;
  clock: Clock;
  events: EventLog;
  settingNames: SettingNames;
}>;

/** Lists the conditions of a guarded node that the settings have watched; each is looked at soon after the start. */
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

/** A node under watch, with the gateway before it. */
export type GuardedNode = Readonly<{
  board: ConditionBoard;
  charts: Charts;
  health: Health;
  /** The gateway's URLs: `gateway` for the public one, `gateway-private`, `gateway-internal`. */
  urls: Readonly<Record<string, string>>;
  /** Returns what the gateway has done since its start. */
  traffic: () => Promise<Traffic>;
  /** Answers `/livez`, `/readyz` and `/metrics`; the service adds its own routes and listens. */
  operations: App;
  /** The connections of the listener that `operations` is served on. */
  operatorConnections: ListenerConnections;
}>;

/**
 * Watches a node's RPC and puts the gateway before it: the part that the sidecar and `gatehouse gateway` share. All of it ends with the
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
    startHealth(settings, { log, metrics, clock, send: sendRequest, board, charts, eventLoop }),
  );
  const hasReferences = settings.lag.references.length > 0;
  const { httpUrl, webSocketUrl, batchCallsMax } = settings.node;
  const fitness = () => judgeNodeFitness({ hasReferences }, { facts: health.facts(), clock });
  const linkOpened = () => {
    health
      .look(signal)
      .catch((err: unknown) => log.error({ event: "node-check-failed", err }, "the node could not be looked at"));
  };
  const node = { httpUrl, webSocketUrl, batchCallsMax, fitness, linkOpened };
  const connections = resources.use(boundProcessConnections(settings.gateway.listener, { metrics }));
  const setting = {
    connections: settingNames.key("listener.connections"),
    connectionsPerAddress: settingNames.key("listener.connectionsPerAddress"),
  };
  // Callers of a node that is well are served from the first moment on.
  await waitForLook(health, { timeoutMs: settings.health.timeoutMs, signal });
  const gateway = resources.use(
    await startGateway(settings.gateway, { log, metrics, node, settingNames, files, connections }),
  );
  // Before there are listeners, there would be room for no connection.
  resources.use(watchDescriptors(connections.state, { board, log, setting }));
  const operations = createApp(
    { bodyLimitBytes, compressed: operatorPaths.metrics, isAllowedHost: createAllowedHostCheck(settings.listen) },
    { log, metrics, mask },
  );
  // Counted in the time in which this process ran: a head that grew old while it stood still is nobody's fault.
  let servedMs = health.ranMs();
  const setGatewayCondition = () => {
    const filesCondition = deriveFilesCondition(files.list());
    if (filesCondition !== undefined) board.set(filesCondition);
    // Before the node was queried once, nothing can be said of what stands before it.
    if (health.facts().rpc === undefined) return;
    const readiness = gateway.readiness();
    const now = health.ranMs();
    // A head is due only from a node that is fit and answers.
    if (readiness.ok || isNodeUnfit(fitness(), health.facts())) servedMs = now;
    const isLate = now - servedMs >= silentForMs;
    board.set(deriveGatewayCondition(readiness, { fitness: fitness(), facts: health.facts(), isLate }));
  };
  const disownElsewhere = createDisowner(gateway, fitness);
  const failed = (error: unknown) => reportFailedLook(watchedLook, error, board);
  const reporting = poll(
    { name: "gateway", failed, intervalMs: gatewayIntervalMs, signal },
    async () => {
      disownElsewhere();
      setGatewayCondition();
    },
    { log },
  );
  resources.defer(() => reporting);
  const isServing = () => gateway.readiness().ok && fitness() !== "down" && isAnswering(health.facts());
  const judging = watchCalls({ traffic: gateway.traffic, isServing, board, clock, log, signal });
  resources.defer(() => judging);
  const readiness = () => {
    setGatewayCondition();
    return readNodeReadiness(board);
  };
  const hasExemplars = settings.gateway.tracing.otlpUrl !== undefined;
  addOperationsRoutes(operations, { metrics, hasExemplars, readiness, configuration: context.configuration });
  const urls = nameListeners(gateway.urls);
  const { traffic } = gateway;
  return { board, charts, health, urls, traffic, operations, operatorConnections: connections.operators() };
}

const watchedLook: WatchedLook = { what: "The look at the gateway", types: ["GatewayServing", "FilesLoaded"] };

/** Longest that a start waits for a node that does not answer, whatever the time limit of a query. */
const startWithoutLookMs = 2_000;

/** Waits until the node was looked at, or a query's time is over: until its chain is known, callers are refused. */
async function waitForLook(
  { looked }: Pick<Health, "looked">,
  { timeoutMs, signal }: Readonly<{ timeoutMs: number; signal: AbortSignal }>,
): Promise<void> {
  const over = new AbortController();
  void looked.then(() => over.abort());
  await pauseWhileRunning(Math.min(timeoutMs, startWithoutLookMs), AbortSignal.any([signal, over.signal]));
}

/** Has the gateway disown its node each time that it is found on another chain. */
function createDisowner({ disown }: Pick<Gateway, "disown">, fitness: () => NodeFitness): () => void {
  let wasElsewhere = false;
  return () => {
    const isElsewhere = fitness() === "anotherChain";
    if (isElsewhere && !wasElsewhere) disown();
    wasElsewhere = isElsewhere;
  };
}

function nameListeners(urls: GatewayUrls): Record<string, string> {
  return Object.fromEntries(
    Object.entries(urls).map(([name, url]) => [name === "public" ? "gateway" : `gateway-${name}`, url]),
  );
}

/** Whether it is the node's fault if the gateway does not serve. */
function isNodeUnfit(fitness: NodeFitness, facts: NodeFacts): boolean {
  return fitness !== "fit" || !isAnswering(facts);
}

/**
 * Derives whether the gateway serves. While its node is unfit it does not, but the fault is the node's, which its own conditions report: then
 * the gateway's state is not known. Nor is it at the start and just after the node went away, before anybody can tell which of the two is at
 * fault (`isLate`).
 */
function deriveGatewayCondition(
  { ok, message }: ReadinessCheck,
  { fitness, facts, isLate }: Readonly<{ fitness: NodeFitness; facts: NodeFacts; isLate: boolean }>,
): ConditionReport {
  const type = "GatewayServing";
  if (ok && (fitness === "fit" || fitness === "behind")) {
    return { type, status: "True", reason: "Serving", message: `The gateway is ${message}.` };
  }
  const isUnfit = isNodeUnfit(fitness, facts);
  if (isUnfit || !isLate) {
    const why = isUnfit ? "its node is unhealthy." : `${message} yet.`;
    const reason = isUnfit ? "NodeUnhealthy" : "WaitingForHead";
    return { type, status: "Unknown", reason, message: `The gateway is rejecting calls: ${why}` };
  }
  return {
    type,
    status: "False",
    reason: "NoHead",
    message: `The gateway is not serving: ${message}, although the node answers health checks. Look at node.webSocketUrl, and at the gateway's log.`,
  };
}

/**
 * Time for which the RPC has to be silent before it counts as down, and the head unknown before the gateway is to blame: one slow answer is no
 * outage.
 */
const silentForMs = 3_000;

/** Options of the judgement: whether the node is compared with references. */
export type NodeFitnessOptions = Readonly<{ hasReferences: boolean }>;

/**
 * Judges by what the node's watches found whether the gateway may query it. A node that has not reported its chain may be on another one,
 * where no transaction is to land; everything else that is not known yet speaks for it. Without references nobody knows more of the chain than
 * the node does: then it is never behind.
 */
export function judgeNodeFitness(
  { hasReferences }: NodeFitnessOptions,
  { facts, clock }: Readonly<{ facts: NodeFacts; clock: Clock }>,
): NodeFitness {
  const { rpc, chain, height, lag } = facts;
  if (rpc?.fault !== undefined && clock.monotonicMs() - rpc.sinceMs >= silentForMs) return "down";
  if (chain === "another") return "anotherChain";
  if (chain === undefined) return "chainUnknown";
  const isBehind = [height, lag].some((side) => typeof side === "object");
  return hasReferences && isBehind ? "behind" : "fit";
}
