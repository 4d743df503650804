import { performance } from "node:perf_hooks";
import { Counter, type Registry } from "prom-client";
import type { ConnectionBudget } from "#daemon/http/connections/connection-budget.ts";
import type { ActiveFiles } from "#daemon/files/active-files.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { deriveMemoryBounds, readMemoryLimits, MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { optimizeForSpeed, watchBusy } from "#daemon/process/busy-signal.ts";
import type { EventLoopWatch } from "#health/event-loop-watch.ts";
import { pause as realPause, type Pause } from "#daemon/time.ts";
import { HeadTracker } from "./chain/chain-head.ts";
import type { GatewayContext } from "./calls/call-context.ts";
import { admitBodies, createMessageHandler } from "./calls/message-handler.ts";
import { registerGauges } from "./gauges.ts";
import { rememberChecks } from "./limits/check-params.ts";
import { LoadGate } from "./limits/load-gate.ts";
import { createProcessRateLimiter, type RateLimiter } from "./limits/rate-limiter.ts";
import { startListeners } from "./listener/listeners.ts";
import { startNode, type UpstreamNode } from "./node.ts";
import { createAccessLog, createPrometheusMeter } from "./observe/call-metrics.ts";
import type { Traffic } from "./observe/meter.ts";
import type { RunningTracing } from "./observe/otlp-tracing.ts";
import { startLivePolicy } from "./policy.ts";
import { ResponseCache } from "./reads/response-cache.ts";
import { NodeReads } from "./reads/node-reads.ts";
import type { SettingNames } from "./settings/names.ts";
import type { GatewaySettings } from "./settings/sections.ts";
import { createNodeBatches } from "./upstream/node-batches.ts";
import { SharedTurns } from "./wire/shared-turns.ts";

export type GatewayDependencies = Readonly<{
  log: Logger;
  metrics: Registry;
  node: UpstreamNode;
  eventLoop: Pick<EventLoopWatch, "recentMs">;
  settingNames: SettingNames;
  files: ActiveFiles;
  connections: ConnectionBudget;
  /** Waits during a stop while clients close their connections. Default: the system timer. */
  pause?: Pause;
}>;

/** A running gateway. Disposing of it lets in-flight calls finish and closes WebSockets with code 1001. */
export type Gateway = AsyncDisposable &
  Readonly<{
    /** URLs of the running listeners, keyed by `public`, `private` and `internal`. */
    urls: Readonly<Record<string, string>>;
    readiness: () => ReadinessCheck;
    traffic: () => Promise<Traffic>;
    /** Discards everything the node reported and closes all subscriptions, because the node is on another chain. */
    disown: () => void;
  }>;

const now = performance.now.bind(performance);

/**
 * Calls per second at which a gateway counts as busy. Below that, a sidecar's code is kept small to leave memory to the node; a busy
 * gateway gets fast code, which takes a third less CPU per forwarded call.
 */
const busyCalls = 1_000;

/** Max reads sent to a node in one batch if neither the settings nor the node's family specify a number. */
const defaultBatchItems = 100;

/**
 * Starts the gateway's listeners in front of one node.
 *
 * @throws {StartupError} when a listener's port is in use or a file listed in the settings can't be used.
 */
export async function startGateway(
  settings: GatewaySettings,
  { log, metrics, node, eventLoop, settingNames, files, connections, pause = realPause }: GatewayDependencies,
): Promise<Gateway> {
  await using startedResources = new AsyncDisposableStack();

  const policy = startedResources.use(await startLivePolicy(settings, { log, files, settingNames })).current;
  const turns = new SharedTurns({ now, later: setImmediate });
  const head = new HeadTracker(settings.head, { now, wallClock: Date.now });
  const cache = new ResponseCache(settings.cache);
  const memory = new MemoryBudget(deriveMemoryBounds(settings.memory, readMemoryLimits()), { cache });
  const countGap = createGapCounter(metrics);
  const upstream = startedResources.use(
    startNode(settings, node, { head, cache, policy, gapEnded: countGap, log, now, turns }),
  );
  const meter = createPrometheusMeter(metrics, createAccessLog(policy, { log, random: Math.random }));
  startedResources.use(watchBusy({ busyCalls, completed: meter.completed, becameBusy: optimizeForSpeed }));
  const { batchItems: items = node.batchCallsMax ?? defaultBatchItems, batchResponseBytes: responseBytes } =
    settings.upstream;
  const context: GatewayContext = {
    policy,
    limiter: startedResources.use(await startRateLimiter(settings.rateStore, log)),
    gate: new LoadGate(settings.upstream, { loopDelayMs: eventLoop.recentMs }),
    head,
    fitness: node.fitness,
    checks: rememberChecks(),
    reads: new NodeReads(settings.cache, { pool: upstream.pool, cache, head }),
    nodeBatches: createNodeBatches({ items, responseBytes }, { pool: upstream.pool, log, now, turns }),
    meter,
    tracing: startedResources.use(await startTracing(settings.tracing, log)).tracing,
    turns,
    now,
  };
  const listeners = await startListeners(settings, {
    policy,
    handle: createMessageHandler(context),
    turns,
    hub: upstream.hub,
    memory,
    blockAgeMs: () => head.blockAgeMs(),
    connections,
    metrics,
    limited: meter.limited,
    bodies: admitBodies(context),
    settingNames,
    files,
    log,
    pause,
  });
  startedResources.use(listeners);
  registerGauges(metrics, { gate: context.gate, limiter: context.limiter, memory, upstream, cache, listeners, head });
  const resources = startedResources.move();
  return {
    urls: listeners.urls,
    traffic: meter.traffic,
    disown: upstream.disown,
    readiness: () =>
      deriveReadiness(
        head.known()?.latest,
        node.fitness.current === "behind" && policy().settings.behind.reads === "reject",
      ),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Starts tracing if the settings specify a collector; otherwise OpenTelemetry's SDK is not even loaded. */
async function startTracing(options: GatewaySettings["tracing"], log: Logger): Promise<RunningTracing> {
  const { otlpUrl } = options;
  if (otlpUrl === undefined) return { tracing: undefined, [Symbol.asyncDispose]: async () => undefined };
  const { startOtlpTracing } = await import("./observe/otlp-tracing.ts");
  return startOtlpTracing(otlpUrl, options, log);
}

/**
 * Starts the limiter that the settings configure: shared between replicas if they specify a store, otherwise local to this process. The
 * store's client library is loaded only if needed, because it takes 5 MiB.
 */
async function startRateLimiter(
  { redisUrl, timeoutMs, clients }: GatewaySettings["rateStore"],
  log: Logger,
): Promise<RateLimiter & Disposable> {
  const own = createProcessRateLimiter({ clients }, { now });
  if (redisUrl === undefined) return { ...own, [Symbol.dispose]: () => undefined };
  const { createRedisRateLimiter } = await import("./limits/redis-rate-limiter.ts");
  return createRedisRateLimiter({ url: redisUrl.reveal(), timeoutMs, clients }, { log, fallback: own, now });
}

function deriveReadiness(latest: bigint | undefined, rejectsReads: boolean): ReadinessCheck {
  if (latest === undefined) return { ok: false, message: "the chain head is unknown" };
  if (rejectsReads) {
    return { ok: false, message: "chain reads are rejected: the node is behind the references (behind.reads)" };
  }
  return { ok: true, message: `serving at block ${latest}` };
}

/** Creates the counter for gaps in the node's WebSocket connection, by outcome. */
export function createGapCounter(metrics: Registry): (outcome: "bridged" | "closed") => void {
  const gaps = new Counter({
    name: "gatehouse_gateway_upstream_gaps_total",
    help: "Lost connections to the node's WebSocket, by outcome: bridged (subscribers received the missed events) or closed (they did not).",
    labelNames: ["outcome"],
    registers: [metrics],
  });
  return (outcome) => gaps.inc({ outcome });
}
