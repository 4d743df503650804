import { performance } from "node:perf_hooks";
import type { Registry } from "prom-client";
import type { ConnectionBudget } from "#daemon/http/connections/connection-budget.ts";
import type { FilesLoaded } from "#daemon/files/files-in-force.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { pause as realPause, type Pause } from "#daemon/time.ts";
import { ResponseCache } from "./reads/cache/response-cache.ts";
import { Head, type NodeFitness } from "./chain/head.ts";
import { startListeners, type Listeners } from "./listener/listeners.ts";
import { admitBodies } from "./calls/large-message.ts";
import { createMessageHandler } from "./calls/message-handler.ts";
import { NodeReads } from "./reads/node-reads.ts";
import { LoadGate, watchLoopDelay } from "./limits/load-gate.ts";
import { deriveMemoryBounds, readMemoryLimits, MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { rememberChecks } from "./limits/checked-params.ts";
import { createProcessRateLimiter, type RateLimiter } from "./limits/rate-limiter.ts";
import { withAccessLog } from "./observe/meter.ts";
import { createGapCounter, createPrometheusMeter, registerGauges } from "./observe/call-metrics.ts";
import { optimizeForSpeed, watchBusy } from "#daemon/process/busy-signal.ts";
import type { Traffic } from "./observe/meter.ts";
import type { RunningTracing } from "./observe/tracing.ts";
import { startLivePolicy } from "./policy.ts";
import type { SettingNames } from "./settings/names.ts";
import type { GatewaySettings } from "./settings/sections.ts";
import { createNodeBatches } from "./upstream/node-batches.ts";
import { startNode, type Node } from "./node.ts";
import { SharedTurns } from "./wire/shared-turns.ts";

/** Dependencies that a process provides to its gateway: log and metrics, the node behind it, and the files and connections shared with other parts. */
export type GatewayDependencies = Readonly<{
  log: Logger;
  metrics: Registry;
  /** The node behind the gateway, and its known state. Evaluated on each call. */
  node: Readonly<{
    httpUrl: string;
    webSocketUrl: string;
    /** Max calls that the node accepts in one batch, if its family is known to set a limit. */
    batchCallsMax?: number | undefined;
    fitness: () => NodeFitness;
    /** Called when the node's WebSocket opens or reopens: the node behind it may be a different one. */
    linkOpened: () => void;
  }>;
  settingNames: SettingNames;
  /** Records the state of the hot-reloaded files. */
  files: FilesLoaded;
  /** The process's connection budget. */
  connections: ConnectionBudget;
  /** Waits during a stop while clients close their connections; defaults to the system timer. */
  pause?: Pause;
}>;

/** URLs of the running listeners, keyed by `public`, `private` and `internal`. */
export type GatewayUrls = Readonly<Record<string, string>>;

/** A running gateway. Disposing of it lets in-flight calls finish and closes WebSockets with code 1001. */
export type Gateway = AsyncDisposable &
  Readonly<{
    urls: GatewayUrls;
    readiness: () => ReadinessCheck;
    traffic: () => Promise<Traffic>;
    /** Discards everything the node reported and closes all subscriptions, because the node is on another chain. */
    disown: () => void;
  }>;

const now = performance.now.bind(performance);

/**
 * Calls per second at which a gateway counts as busy. Until then a sidecar's code is kept small for the node's sake; a busy gateway needs
 * fast code, which takes a third less CPU per forwarded call.
 */
const busyCalls = 1_000;

/** Max reads sent to a node in one batch if neither the settings nor the node's family specify a number. */
const usualBatchItems = 100;

/**
 * Starts the gateway's listeners in front of one node.
 *
 * @throws {StartupError} when a listener's port is in use or a file listed in the settings can't be used.
 */
export async function startGateway(
  settings: GatewaySettings,
  { log, metrics, node, settingNames, files, connections, pause = realPause }: GatewayDependencies,
): Promise<Gateway> {
  await using starting = new AsyncDisposableStack();

  const policy = starting.use(startLivePolicy(settings, { log, files, settingNames })).current;
  const turns = new SharedTurns({ now, later: setImmediate });
  const head = new Head(settings.head, { now, wallClock: Date.now });
  const cache = new ResponseCache(settings.cache);
  const memory = new MemoryBudget(deriveMemoryBounds(settings.memory, readMemoryLimits()), { cache });
  const upstream = starting.use(
    startNode(settings, { ...node, head, cache, policy, gapEnded: createGapCounter(metrics), log, now, turns }),
  );
  const gate = new LoadGate(settings.upstream, { loopDelayMs: starting.use(watchLoopDelay({ now })).delayMs });
  const counted = createPrometheusMeter(metrics);
  const meter = withAccessLog(counted, policy, { log, random: Math.random });
  starting.use(watchBusy({ busyCalls, completed: counted.completed, becameBusy: optimizeForSpeed }));
  const { tracing } = starting.use(await startTracing(settings.tracing, log));
  const reads = new NodeReads(settings.cache, { pool: upstream.pool, cache, head });
  const calls = {
    policy,
    limiter: starting.use(await startRateLimiter(settings.rateStore, log)),
    gate,
    head,
    checks: rememberChecks(),
    nodeFitness: node.fitness,
    reads,
    plainReads: reads.isCaching ? reads : undefined,
    meter,
    now,
  };
  const { batchItems = node.batchCallsMax ?? usualBatchItems, batchResponseBytes } = settings.upstream;
  const nodeBatches = createNodeBatches(
    { items: batchItems, responseBytes: batchResponseBytes },
    { pool: upstream.pool, log, now, turns },
  );
  const listeners = await startListeners(settings, {
    policy,
    handle: createMessageHandler({ ...calls, nodeBatches, tracing, turns }),
    turns,
    hub: upstream.hub,
    memory,
    blockAgeMs: () => head.blockAgeMs(),
    connections,
    metrics,
    limited: meter.limited,
    bodies: admitBodies(calls),
    settingNames,
    files,
    log,
    pause,
  });
  starting.use(listeners);
  showGauges(metrics, { gate, memory, upstream, cache, listeners, head });
  const resources = starting.move();
  return {
    urls: listeners.urls,
    traffic: counted.traffic,
    disown: upstream.disown,
    readiness: () =>
      deriveReadiness(head.known()?.latest, node.fitness() === "behind" && policy().settings.behind.reads === "refuse"),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Starts tracing if the settings specify a collector; otherwise OpenTelemetry's SDK is not even loaded. */
async function startTracing({ otlpUrl, ...options }: GatewaySettings["tracing"], log: Logger): Promise<RunningTracing> {
  if (otlpUrl === undefined) return { tracing: undefined, [Symbol.asyncDispose]: async () => undefined };
  const { startOtlpTracing } = await import("./observe/otlp-tracing.ts");
  return startOtlpTracing({ ...options, otlpUrl }, { log });
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

function deriveReadiness(latest: bigint | number | undefined, refusesReads: boolean): ReadinessCheck {
  if (latest === undefined) {
    return { ok: false, message: "the chain head is unknown" };
  }
  if (refusesReads) {
    return { ok: false, message: "chain reads are rejected: the node is behind the references (behind.reads)" };
  }
  return { ok: true, message: `serving at block ${latest}` };
}

type Shown = Readonly<{
  gate: LoadGate;
  memory: MemoryBudget;
  upstream: Node;
  cache: ResponseCache;
  listeners: Listeners;
  head: Head;
}>;

function showGauges(metrics: Registry, { gate, memory, upstream, cache, listeners, head }: Shown): void {
  registerGauges(metrics, {
    callsInFlight: () => gate.callsInFlight,
    callsWaiting: () => upstream.pool.waiting + gate.callsWaiting,
    heldBytes: () => memory.bytes,
    cacheBytes: () => cache.bytes(),
    cacheEntries: () => cache.entries(),
    webSockets: listeners.webSockets,
    subscriptions: listeners.subscriptions,
    upstreamSubscriptions: () => upstream.hub.upstreamSubscriptions(),
    linked: () => Number(upstream.isLinked()),
    headAgeSeconds: () => {
      const ageMs = head.blockAgeMs();
      return ageMs === undefined ? undefined : ageMs / 1_000;
    },
    headNumber: () => {
      const latest = head.known()?.latest;
      return latest === undefined ? undefined : Number(latest);
    },
  });
}
