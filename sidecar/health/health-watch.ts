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
  /** Settles when the watch has ended. */
  done: Promise<void>;
}>;

/** Looks at which chain id, version and sync state are asked again; the height is asked at each. */
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

  const look = async (signal: AbortSignal): Promise<NodeHealth> => {
    const startMs = clock.monotonicMs();
    try {
      const height = quantity(await rpc("eth_blockNumber", [], signal), "eth_blockNumber", options.url);
      const nowMs = clock.monotonicMs();
      const isFirst = health.answers === 0 || health.failure !== undefined;
      const answeredAtMs = clock.wallMs();
      health = { ...answered(health, { height, latencyMs: nowMs - startMs, nowMs }, options), answeredAtMs };
      dependencies.heights.add({ atMs: answeredAtMs, value: height });
      if (isFirst || health.answers % looksBetweenDetails === 0) {
        const more = await details(signal);
        health = { ...health, ...more };
      }
    } catch (error) {
      if (signal.aborted) return health;
      if (!(error instanceof RpcFailure)) throw error;
      health = failed(health, { reason: error.code, message: error.message });
    }
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    for (const condition of healthConditions(health, options, now)) board.set(condition);
    metrics.observe(health, clock.monotonicMs());
    return health;
  };

  const details = async (signal: AbortSignal): Promise<Partial<NodeHealth>> => {
    const chainId = quantity(await rpc("eth_chainId", [], signal), "eth_chainId", options.url);
    const clientVersion = await optional(rpc("web3_clientVersion", [], signal));
    const syncing = await optional(rpc("eth_syncing", [], signal));
    return {
      chainId,
      ...(typeof clientVersion === "string" ? { clientVersion: clientVersion.slice(0, 200) } : {}),
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
  return { current: () => health, look, compared, done };
}

/** A method that a node may lack: its error leaves the answer unknown. */
async function optional(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RpcFailure && error.code === "RpcError") return undefined;
    throw error;
  }
}
