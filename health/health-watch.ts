import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import type { Series } from "#status/charts.ts";
import type { EventLoopWatch } from "./event-loop-watch.ts";
import { explainClockDifference } from "./clock-difference.ts";
import { deriveRpcConditions, deriveHealthInfo, type CheckTime, type HealthLimits } from "./rpc-conditions.ts";
import type { HealthMetrics } from "./health-metrics.ts";
import {
  resetForChain,
  countResponse,
  countFailure,
  unknownHealth,
  type RpcState,
  type ReferenceCheck,
  type RpcCheckFailure,
  type NodeInfo,
  type ObservedNode,
} from "./rpc-state.ts";
import { readChainId, readDetails, readBlockMs, readHeight, readVersion } from "./node-details.ts";
import { RpcFailure, type RpcClient } from "./rpc-client.ts";

export type HealthWatchOptions = Readonly<{
  url: string;
  chainId: number;
  intervalMs: number;
  timeoutMs: number;
  staleAfterMs: number;
  /** Whether the node's height is compared with references; if so, the result of the comparison is passed to `compared`. */
  hasReferences: boolean;
  /** Whether a refused connection means that the node's process has exited. */
  rejectionMeansEnd: boolean;
  signal: AbortSignal;
}>;

export type HealthWatch = Readonly<{
  current: () => RpcState;
  /** Returns the findings of all watches on the node's interfaces, for use in decisions. */
  facts: () => NodeInfo;
  /** Runs one check now, in addition to the regular ones. */
  check: (signal: AbortSignal) => Promise<RpcState>;
  /** Receives the result of the last check of the references. */
  compared: (reference: ReferenceCheck) => void;
  /** Returns monotonic time without the periods in which this process was suspended and could not have seen the node respond. */
  ranMs: () => number;
  /** Resolves once the RPC has been queried for the first time, whatever the result. */
  firstCheckDone: Promise<void>;
  done: Promise<void>;
}>;

/** Share of a query's timeout at which a late event loop may be the reason that the query failed, and max queries per check. */
const stalledShare = 0.1;
const maxAttempts = 4;

/** Number of checks after which client version and sync state are queried again; height and chain ID are queried at every check. */
const checksBetweenDetails = 15;

type HealthWatchDependencies = Readonly<{
  rpc: RpcClient;
  log: Logger;
  clock: Clock;
  board: ConditionBoard;
  metrics: HealthMetrics;
  heights: Series;
  facts: ObservedNode;
  eventLoop: EventLoopWatch;
}>;

/** Queries the node's height at an interval, records what the responses show, and sets the conditions on the board. */
export function watchHealth(options: HealthWatchOptions, dependencies: HealthWatchDependencies): HealthWatch {
  const { rpc, clock, metrics, facts, eventLoop } = dependencies;
  let health: RpcState = options.hasReferences
    ? { ...unknownHealth, reference: { height: undefined, requestedAtMs: Number.NEGATIVE_INFINITY } }
    : unknownHealth;
  const followChain = createChainFollower(options);
  const discountStalls = createStallDiscount(eventLoop, clock);
  const { promise: firstCheckDone, resolve: reportFirstCheck } = Promise.withResolvers<void>();

  const query = async (signal: AbortSignal): Promise<RpcState> => {
    const startMs = clock.monotonicMs();
    const lateMs = eventLoop.lateMs();
    try {
      const height = await readHeight(rpc, options.url, signal);
      const nowMs = clock.monotonicMs();
      const answeredLateMs = eventLoop.lateMs();
      const answeredAtMs = clock.wallMs();
      const isDetailed = needsDetails(health);
      // A restart or a replacement of the node may go unnoticed between two checks. The chain decides whether the gateway queries the node
      // at all, and the version determines what is written, so both are queried every time (the version only from a node that reports it).
      const { binaryVersion } = health;
      const [chainId, version] = await Promise.all([
        readChainId(rpc, options.url, signal),
        isDetailed || binaryVersion !== undefined ? readVersion(rpc, binaryVersion, signal) : {},
      ]);
      const known = isDetailed ? await readDetails(rpc, signal) : {};
      const latencyMs = Math.max(0, nowMs - startMs - (answeredLateMs - lateMs));
      const before = followChain(health, chainId, nowMs);
      // The node is on a different chain than before; it may have changed between the two queries.
      const last = before === health ? height : await readHeight(rpc, options.url, signal);
      const blockMs = isDetailed ? await readBlockMs(last, rpc, signal) : undefined;
      dependencies.heights.add({ atMs: answeredAtMs, value: last });
      const answered = countResponse(before, { height: last, latencyMs, nowMs }, options);
      const found = { ...answered, answeredAtMs, chainId, ...known, ...version };
      const time = { monotonicMs: nowMs, wallMs: answeredAtMs };
      return isDetailed ? withBlockTime(blockMs, found, time, options) : found;
    } catch (error) {
      if (signal.aborted) return health;
      if (!(error instanceof RpcFailure)) throw error;
      return countFailure(health, buildFailure(error, options));
    }
  };
  const check = async (signal: AbortSignal): Promise<RpcState> => {
    const found = await repeatIfStalled(() => query(signal), options, eventLoop);
    if (signal.aborted) return health;
    health = discountStalls(found);
    report(health, options, dependencies);
    metrics.observe(health, clock.monotonicMs());
    reportFirstCheck();
    return health;
  };

  const { ended: done } = pollCheck(
    {
      name: "health",
      what: "The check of the node's RPC",
      types: ["RpcResponding", "ChainIdMatches", "HeightAdvancing"],
      intervalMs: options.intervalMs,
      signal: options.signal,
    },
    async (signal) => void (await check(signal)),
    dependencies,
  );
  return {
    current: () => health,
    facts: facts.now,
    check,
    compared: (reference) => {
      health = { ...health, reference };
    },
    ranMs: () => clock.monotonicMs() - eventLoop.lateMs(),
    firstCheckDone,
    done,
  };
}

/** Returns whether the next check is the first one after the start or a failure, or one of the regular ones that query details. */
function needsDetails({ answers, failure }: RpcState): boolean {
  return answers === 0 || failure !== undefined || (answers + 1) % checksBetweenDetails === 0;
}

/** Creates a function that returns the state for the node's current chain. Heights on the expected chain are retained while the node is on another chain. */
function createChainFollower(
  options: Pick<HealthWatchOptions, "chainId">,
): (health: RpcState, chainId: number, nowMs: number) => RpcState {
  let kept: RpcState | undefined;
  return (health, chainId, nowMs) => {
    if (health.chainId === undefined || health.chainId === chainId) return health;
    if (health.chainId === options.chainId) kept = health;
    return resetForChain(health, chainId === options.chainId ? kept : undefined, nowMs);
  };
}

/**
 * Adds what the latest block's timestamp shows: at the first check, whether the chain was idle; always, whether the clock is wrong, which is
 * unknown without a timestamp.
 */
function withBlockTime(
  blockMs: number | undefined,
  found: RpcState,
  now: CheckTime,
  { staleAfterMs }: Pick<HealthWatchOptions, "staleAfterMs">,
): RpcState {
  const { height, answers } = found;
  if (blockMs === undefined || height === undefined) return { ...found, clockDifference: "" };
  const wasIdle = answers === 1 && now.wallMs - blockMs > staleAfterMs;
  const clockDifference = explainClockDifference(blockMs, found, now);
  return { ...found, clockDifference, ...(wasIdle ? { idleAt: height } : {}) };
}

function report(
  health: RpcState,
  limits: HealthLimits,
  { board, clock, facts }: Readonly<{ board: ConditionBoard; clock: Clock; facts: ObservedNode }>,
): void {
  const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
  const conditions = deriveRpcConditions(health, limits, now);
  facts.note(deriveHealthInfo(conditions, facts.now(), now));
  for (const condition of Object.values(conditions)) if (condition !== undefined) board.set(condition);
}

function buildFailure(error: RpcFailure, { rejectionMeansEnd }: HealthWatchOptions): RpcCheckFailure {
  return { reason: error.code, message: error.message, isPortClosed: rejectionMeansEnd && error.isPortClosed };
}

/** Retries a query that failed while this process was suspended for a good part of the query's timeout: this process may be at fault. */
async function repeatIfStalled(
  query: () => Promise<RpcState>,
  { timeoutMs }: Pick<HealthWatchOptions, "timeoutMs">,
  eventLoop: EventLoopWatch,
): Promise<RpcState> {
  for (let attempt = 1; ; attempt += 1) {
    const lateMs = eventLoop.lateMs();
    const found = await query();
    const hasStalled = eventLoop.lateMs() - lateMs > timeoutMs * stalledShare;
    if (found.failure === undefined || !hasStalled || attempt >= maxAttempts) return found;
  }
}

/** While this process was suspended, it could not see any block, and a response read only now may be equally old: the height's age excludes that time. */
function createStallDiscount(eventLoop: EventLoopWatch, clock: Clock): (found: RpcState) => RpcState {
  let seenLateMs = eventLoop.lateMs();
  return (found) => {
    const stalledMs = eventLoop.lateMs() - seenLateMs;
    seenLateMs += stalledMs;
    if (found.heightSinceMs === undefined || stalledMs === 0) return found;
    return { ...found, heightSinceMs: Math.min(clock.monotonicMs(), found.heightSinceMs + stalledMs) };
  };
}
