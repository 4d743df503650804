import type { ConditionReport } from "#status/condition.ts";
import { findFault, type NodeInfo, type RpcState } from "./rpc-state.ts";

/** The chain expected of the node, and the time after which a block counts as missing. */
export type HealthLimits = Readonly<{ url: string; chainId: number; staleAfterMs: number }>;

/** The time of a check on both clocks, in milliseconds. */
export type CheckTime = Readonly<{ monotonicMs: number; wallMs: number }>;

/** Conditions for the RPC; those for chain and height are absent until the node has reported them. */
export type RpcConditions = Readonly<{
  answering: ConditionReport<"RpcResponding">;
  chain: ConditionReport<"ChainIdMatches"> | undefined;
  advancing: ConditionReport<"HeightAdvancing"> | undefined;
}>;

/** Derives the state of the RPC: whether it responds, is on the expected chain, and advances in height. Pure function. */
export function deriveRpcConditions(health: RpcState, limits: HealthLimits, now: CheckTime): RpcConditions {
  return {
    answering: deriveAnswering(health, limits),
    chain: deriveChain(health, limits),
    advancing: deriveHeightAdvancing(health, limits, now),
  };
}

/** Derives the same state as facts, to be merged into the previous ones: anything unknown now keeps its last finding. */
export function deriveHealthInfo(
  { answering: rpc, chain: id, advancing: height }: RpcConditions,
  before: NodeInfo,
  { monotonicMs }: CheckTime,
): NodeInfo {
  const fault = findFault(rpc);
  const heightNow = deriveHeightFact(height);
  const isAsBefore = before.rpc !== undefined && (before.rpc.fault === undefined) === (fault === undefined);
  return {
    rpc: { sinceMs: isAsBefore ? before.rpc.sinceMs : monotonicMs, fault },
    ...(id === undefined ? {} : { chain: id.status === "True" ? "expected" : "another" }),
    ...(heightNow === undefined ? {} : { height: heightNow }),
  };
}

function deriveHeightFact(report: ConditionReport<"HeightAdvancing"> | undefined): NodeInfo["height"] {
  if (report === undefined || report.reason === "NoResponse" || report.reason === "CheckFailed") return undefined;
  switch (report.reason) {
    case "Advancing":
      return "advancing";
    case "Idle":
      return "idle";
    case "Quiet":
      return "quiet";
    default:
      return { reason: report.reason, message: report.message };
  }
}

function deriveAnswering(
  { failure, latencyMs = 0 }: RpcState,
  { url }: HealthLimits,
): ConditionReport<"RpcResponding"> {
  if (failure !== undefined) {
    const { reason, message } = failure;
    return { type: "RpcResponding", status: "False", reason, message };
  }
  const message = `${new URL(url).origin} responds to eth_blockNumber in ${Math.round(latencyMs)} ms.`;
  return { type: "RpcResponding", status: "True", reason: "Responding", message };
}

function deriveChain({ chainId }: RpcState, limits: HealthLimits): ConditionReport<"ChainIdMatches"> | undefined {
  if (chainId === undefined) return undefined;
  const type = "ChainIdMatches";
  if (chainId === limits.chainId) {
    return { type, status: "True", reason: "Matches", message: `The node is on chain ${chainId}.` };
  }
  const message = `The node is on chain ${chainId}; expected ${limits.chainId}; correct node.httpUrl or node.chainId.`;
  return { type, status: "False", reason: "WrongChain", message };
}

function deriveHeightAdvancing(
  health: RpcState,
  limits: HealthLimits,
  now: CheckTime,
): ConditionReport<"HeightAdvancing"> | undefined {
  const { height, heightSinceMs, highest, failure, clockDifference = "" } = health;
  if (failure !== undefined) return withoutAnswer(health);
  if (height === undefined || heightSinceMs === undefined) return undefined;
  const type = "HeightAdvancing";
  if (highest !== undefined && height < highest) {
    const message = `The height dropped from ${highest} to ${height}; the node lost blocks or its data was replaced. Check the node's log and its data directory.`;
    return { type, status: "False", reason: "WentBackwards", message };
  }
  const unchangedMs = now.monotonicMs - heightSinceMs;
  if (unchangedMs <= limits.staleAfterMs) {
    return { type, status: "True", reason: "Advancing", message: `Height is ${height}.${clockDifference}` };
  }
  const since = new Date(now.wallMs - unchangedMs).toISOString();
  return withoutBlocks(
    health,
    `height has been ${height} for more than ${limits.staleAfterMs / 1_000} s, since ${since}`,
  );
}

/** If a node can't be queried, it is not known whether it has stopped or lost blocks: the condition for the RPC reports the fault. */
function withoutAnswer({ height, answeredAtMs }: RpcState): ConditionReport<"HeightAdvancing"> {
  const isKnown = height !== undefined && answeredAtMs !== undefined;
  const before = isKnown ? `; it was ${height} at ${new Date(answeredAtMs).toISOString()}` : "";
  const message = `The RPC is not responding, so the height is not known${before}.`;
  return { type: "HeightAdvancing", status: "Unknown", reason: "NoResponse", message };
}

/**
 * Explains why no block arrives. If there are references, they show whether a block is missing. Without references, the node is the only
 * source: its calls are served, and a chain that was steady is reported as stopped.
 */
function withoutBlocks(
  { height = 0, reference, cadence }: RpcState,
  details: string,
): ConditionReport<"HeightAdvancing"> {
  const type = "HeightAdvancing";
  if (reference !== undefined) {
    if (reference.height !== undefined && reference.height <= height) {
      const message = `No new blocks, and none on the references either: ${details}.`;
      return { type, status: "True", reason: "Idle", message };
    }
    const message = `No new blocks on the node, although the chain may have some: ${details}. Check the node's peers and its log.`;
    return { type, status: "False", reason: "Stalled", message };
  }
  if (cadence === "steady") {
    const message = `No new blocks after a steady rate: ${details}. Calls are served. Check the node's peers and its log; set lag.references to tell a stalled node from a stalled chain.`;
    return { type, status: "False", reason: "NoNewBlock", message };
  }
  const message = `No new blocks: ${details}. Calls are served. Set lag.references to tell a stalled node from a stalled chain.`;
  return { type, status: "Unknown", reason: "Quiet", message };
}
