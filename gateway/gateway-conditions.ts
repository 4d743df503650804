import { describeRejectedFiles, type ActiveFile } from "#daemon/files/active-files.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { isResponding, type NodeInfo } from "#health/rpc-state.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { NodeFitness } from "./chain/chain-head.ts";

/**
 * How long the RPC must be unresponsive before it counts as down, and how long the head must be unknown before the gateway is blamed: one
 * slow response is not an outage.
 */
export const silenceThresholdMs = 3_000;

/**
 * Decides from the node's watches whether the gateway may query the node. A node that has not reported its chain may be on another one,
 * which no transaction may reach; anything else still unknown is assumed to be healthy. Without references, the node itself is the best
 * source for the chain's head, so it never counts as behind.
 */
export function evaluateNodeFitness(
  { rpc, chain, height, lag }: NodeInfo,
  { hasReferences, nowMs }: Readonly<{ hasReferences: boolean; nowMs: number }>,
): NodeFitness {
  if (rpc?.fault !== undefined && nowMs - rpc.sinceMs >= silenceThresholdMs) return "down";
  if (chain === "another") return "anotherChain";
  if (chain === undefined) return "chainUnknown";
  const isBehind = [height, lag].some((side) => typeof side === "object");
  return hasReferences && isBehind ? "behind" : "fit";
}

/** Returns whether the node is at fault if the gateway does not serve. */
export function isNodeUnfit(fitness: NodeFitness, facts: NodeInfo): boolean {
  return fitness !== "fit" || !isResponding(facts);
}

/**
 * Derives whether the gateway serves. While the node is unhealthy, the gateway does not serve, but the node's own conditions report that
 * fault, so the gateway's status is unknown. It is also unknown at startup and just after the node became unreachable, until it is clear
 * whether the node or the gateway is at fault (`isLate`).
 */
export function deriveGatewayCondition(
  { ok, message }: ReadinessCheck,
  { fitness, facts, isLate }: Readonly<{ fitness: NodeFitness; facts: NodeInfo; isLate: boolean }>,
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
    message: `The gateway is not serving: ${message}, although the node responds to health checks. Check node.webSocketUrl and the gateway's log.`,
  };
}

/** Derives the condition `FilesLoaded`; returns undefined if no files are watched. */
export function deriveFilesCondition(files: readonly ActiveFile[]): ConditionReport<"FilesLoaded"> | undefined {
  if (files.length === 0) return undefined;
  const type = "FilesLoaded";
  const message = describeRejectedFiles(files);
  if (message !== undefined) return { type, status: "False", reason: "Rejected", message };
  const paths = files.map(({ path }) => path).join(", ");
  return { type, status: "True", reason: "Loaded", message: `The content of ${paths} is active.` };
}
