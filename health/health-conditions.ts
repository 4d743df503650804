import type { ConditionReport } from "#status/condition.ts";
import type { NodeHealth } from "./node-health.ts";

/** What the node's RPC has to be. */
export type HealthLimits = Readonly<{ url: string; chainId: number; staleAfterMs: number }>;

/** The time of a look by both clocks, in milliseconds. */
export type LookTime = Readonly<{ monotonicMs: number; wallMs: number }>;

/** Says how the RPC is: answering, on the expected chain, its height advancing. */
export function healthConditions(health: NodeHealth, limits: HealthLimits, now: LookTime): readonly ConditionReport[] {
  return [answering(health, limits), ...chain(health, limits), ...advancing(health, limits, now)];
}

function answering({ failure, latencyMs = 0 }: NodeHealth, { url }: HealthLimits): ConditionReport {
  if (failure !== undefined) {
    const { reason, message } = failure;
    return { type: "RpcAnswering", status: "False", reason, message };
  }
  const message = `${new URL(url).origin} answers eth_blockNumber in ${Math.round(latencyMs)} ms.`;
  return { type: "RpcAnswering", status: "True", reason: "Answering", message };
}

function chain({ chainId }: NodeHealth, limits: HealthLimits): readonly ConditionReport[] {
  if (chainId === undefined) return [];
  const type = "ChainIdExpected";
  if (chainId === limits.chainId) {
    return [{ type, status: "True", reason: "Expected", message: `The node is on chain ${chainId}.` }];
  }
  const message = `The node answers chain id ${chainId}, expected ${limits.chainId}; correct node.httpUrl or node.chainId.`;
  return [{ type, status: "False", reason: "AnotherChain", message }];
}

function advancing(health: NodeHealth, limits: HealthLimits, now: LookTime): readonly ConditionReport[] {
  const { height, heightSinceMs, highest } = health;
  if (height === undefined || heightSinceMs === undefined) return [];
  const type = "HeightAdvancing";
  if (highest !== undefined && height < highest) {
    const message = `Height went back from ${highest} to ${height}; the node lost blocks or its data was replaced. Look at the node's log and its data directory.`;
    return [{ type, status: "False", reason: "WentBackwards", message }];
  }
  const unchangedMs = now.monotonicMs - heightSinceMs;
  if (unchangedMs <= limits.staleAfterMs) {
    return [{ type, status: "True", reason: "Advancing", message: `Height is ${height}.` }];
  }
  const since = new Date(now.wallMs - unchangedMs).toISOString();
  return [
    withoutBlocks(health, `height has been ${height} for more than ${limits.staleAfterMs / 1_000} s, since ${since}`),
  ];
}

/**
 * Says what it means that no block comes. Where there are references they know whether one is missing. Without them the node is the only
 * word that there is: its calls are served, and a chain that was steady is told as one that stopped.
 */
function withoutBlocks({ height = 0, reference, rhythm }: NodeHealth, words: string): ConditionReport {
  const type = "HeightAdvancing";
  if (reference !== undefined) {
    if (reference.height !== undefined && reference.height <= height) {
      const message = `No block comes, and the references have none either: ${words}.`;
      return { type, status: "True", reason: "Idle", message };
    }
    const message = `The node makes no block that the chain may have: ${words}. Look at the node's peers and its log.`;
    return { type, status: "False", reason: "Stalled", message };
  }
  if (rhythm === "steady") {
    const message = `Blocks came steadily and come no more: ${words}. Calls are served. Look at the node's peers and its log; references (lag.references) would tell whether the chain stands still.`;
    return { type, status: "False", reason: "NoNewBlock", message };
  }
  const message = `No block comes: ${words}. Calls are served. Only references (lag.references) tell whether the chain makes none or the node misses them.`;
  return { type, status: "Unknown", reason: "Quiet", message };
}
