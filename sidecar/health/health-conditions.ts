import type { ConditionReport } from "../tell/condition.ts";
import type { NodeHealth } from "./node-health.ts";

/** What the node's RPC has to be. */
export type HealthLimits = Readonly<{ url: string; chainId: number; staleAfterMs: number }>;

/** Says how the RPC is: answering, on the expected chain, its height advancing. */
export function healthConditions(health: NodeHealth, limits: HealthLimits, nowMs: number): readonly ConditionReport[] {
  return [answering(health, limits), ...chain(health, limits), ...advancing(health, limits, nowMs)];
}

function answering({ failure, latencyMs = 0 }: NodeHealth, { url }: HealthLimits): ConditionReport {
  if (failure !== undefined) return { type: "RpcAnswering", status: "False", ...failure };
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

function advancing(health: NodeHealth, limits: HealthLimits, nowMs: number): readonly ConditionReport[] {
  const { height, heightSinceMs, highest } = health;
  if (height === undefined || heightSinceMs === undefined) return [];
  const type = "HeightAdvancing";
  if (highest !== undefined && height < highest) {
    const message = `Height went back from ${highest} to ${height}; the node lost blocks or its data was replaced.`;
    return [{ type, status: "False", reason: "WentBackwards", message }];
  }
  const unchangedMs = nowMs - heightSinceMs;
  if (unchangedMs > limits.staleAfterMs) {
    const seconds = limits.staleAfterMs / 1_000;
    const message = `Height has been ${height} for more than ${seconds} s; look at the node's peers and its log.`;
    return [{ type, status: "False", reason: "Stalled", message }];
  }
  return [{ type, status: "True", reason: "Advancing", message: `Height is ${height}.` }];
}
