import { z } from "zod";
import type { Logger } from "#daemon/log.ts";
import type { Clock } from "../clock.ts";
import { poll } from "../poll.ts";
import type { ConditionBoard } from "../tell/condition-board.ts";
import type { Series } from "../tell/series.ts";
import { healthConditions } from "./health-conditions.ts";
import type { HealthMetrics } from "./health-metrics.ts";
import { answered, failed, unknownHealth, type NodeHealth, type ReferenceLook } from "./node-health.ts";
import { quantity, RpcFailure, type RpcClient } from "./rpc-client.ts";

/** How the RPC is watched. */
export type HealthWatchOptions = Readonly<{
  url: string;
  chainId: number;
  intervalMs: number;
  staleAfterMs: number;
  /** Whether the node's height is compared with references, whose word then comes by `compared`. */
  hasReferences: boolean;
  signal: AbortSignal;
}>;

/** The node's RPC under watch. */
export type HealthWatch = Readonly<{
  /** What is known now; never waits. */
  current: () => NodeHealth;
  /** Looks once, now, beside the regular looks. */
  look: (signal: AbortSignal) => Promise<NodeHealth>;
  /** Takes what the references answered. */
  compared: (reference: ReferenceLook) => void;
  /** Resolves when the RPC was asked for the first time, whatever it answered. */
  looked: Promise<void>;
  /** Settles when the watch has ended. */
  done: Promise<void>;
}>;

/** Looks at which chain id, client and sync state are asked again; the height is asked at each. */
const looksBetweenDetails = 15;

/** Asks the node's height again and again and says on the board how it is. */
export function watchHealth(
  options: HealthWatchOptions,
  dependencies: Readonly<{
    rpc: RpcClient;
    log: Logger;
    clock: Clock;
    board: ConditionBoard;
    metrics: HealthMetrics;
    heights: Series;
  }>,
): HealthWatch {
  const { rpc, clock, board, metrics } = dependencies;
  let health: NodeHealth = options.hasReferences
    ? { ...unknownHealth, reference: { height: undefined, askedAtMs: Number.NEGATIVE_INFINITY } }
    : unknownHealth;
  const { promise: looked, resolve: hasLooked } = Promise.withResolvers<void>();

  const look = async (signal: AbortSignal): Promise<NodeHealth> => {
    const startMs = clock.monotonicMs();
    try {
      const height = quantity(await rpc("eth_blockNumber", [], signal), "eth_blockNumber", options.url);
      const nowMs = clock.monotonicMs();
      const isFirst = health.answers === 0 || health.failure !== undefined;
      const answeredAtMs = clock.wallMs();
      const isDetailed = isFirst || (health.answers + 1) % looksBetweenDetails === 0;
      // A restart may pass between two looks, and the version decides what is written: a node that tells it is asked each time.
      const told = isDetailed || health.binaryVersion !== undefined ? await version(signal) : {};
      const known = isDetailed ? await details(signal) : {};
      const resting = health.answers === 0 ? await restingAt(height, { ...options, rpc, clock, signal }) : {};
      const answer = { height, latencyMs: nowMs - startMs, nowMs };
      health = { ...answered(health, answer, options), answeredAtMs, ...known, ...resting, ...told };
      dependencies.heights.add({ atMs: answeredAtMs, value: height });
    } catch (error) {
      if (signal.aborted) return health;
      if (!(error instanceof RpcFailure)) throw error;
      health = failed(health, { reason: error.code, message: error.message });
    }
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    for (const condition of healthConditions(health, options, now)) board.set(condition);
    metrics.observe(health, clock.monotonicMs());
    hasLooked();
    return health;
  };

  const version = async (signal: AbortSignal): Promise<Partial<NodeHealth>> => {
    const text = binaryVersionOf(await optional(rpc("debug_protocolVersion", [], signal)));
    if (text !== undefined) return { binaryVersion: { text, isCurrent: true } };
    const last = health.binaryVersion;
    return last === undefined ? {} : { binaryVersion: { ...last, isCurrent: false } };
  };

  const details = async (signal: AbortSignal): Promise<Partial<NodeHealth>> => {
    const chainId = quantity(await rpc("eth_chainId", [], signal), "eth_chainId", options.url);
    const clientVersion = await optional(rpc("web3_clientVersion", [], signal));
    const syncing = await optional(rpc("eth_syncing", [], signal));
    return {
      chainId,
      ...(typeof clientVersion === "string" ? { clientVersion: clientVersion.slice(0, versionLength) } : {}),
      ...(syncing === undefined ? {} : { syncing }),
    };
  };

  const done = poll(
    { name: "health", intervalMs: options.intervalMs, signal: options.signal },
    async (signal) => {
      await look(signal);
    },
    dependencies,
  );
  const compared = (reference: ReferenceLook) => {
    health = { ...health, reference };
  };
  return { current: () => health, look, looked, compared, done };
}

/** Longest version text that is kept. */
const versionLength = 200;

const protocolVersion = z.object({ binaryVersion: z.string().min(1) });

const timedBlock = z.object({ timestamp: z.string().regex(/^0x[0-9a-f]{1,12}$/i) });

/** The time that a block bears, in milliseconds since 1970. */
function blockTimeMs(answer: unknown): number | undefined {
  const parsed = timedBlock.safeParse(answer);
  return parsed.success ? Number(parsed.data.timestamp) * 1_000 : undefined;
}

/** The height, if its block is so old by its own time that the chain is at rest. */
async function restingAt(
  height: number,
  {
    rpc,
    clock,
    staleAfterMs,
    signal,
  }: Readonly<{ rpc: RpcClient; clock: Clock; staleAfterMs: number; signal: AbortSignal }>,
): Promise<Pick<NodeHealth, "restingAt">> {
  const block = await optional(rpc("eth_getBlockByNumber", [`0x${height.toString(16)}`, false], signal));
  const madeAtMs = blockTimeMs(block);
  return madeAtMs !== undefined && clock.wallMs() - madeAtMs > staleAfterMs ? { restingAt: height } : {};
}

function binaryVersionOf(answer: unknown): string | undefined {
  const parsed = protocolVersion.safeParse(answer);
  return parsed.success ? parsed.data.binaryVersion.slice(0, versionLength) : undefined;
}

/**
 * A method that a node may lack, may not serve at this endpoint, or may serve later than others: without a usable answer it is not
 * known, and the node answers all the same.
 */
async function optional(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcFailure) return undefined;
    throw error;
  }
}
