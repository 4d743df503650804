import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { NodeFitness } from "./chain/node-fitness.ts";
import { isAnswering, type NodeFacts } from "#health/node-facts.ts";
import type { ConditionReport } from "#status/condition.ts";

/**
 * Says whether the gateway serves. While its node is unfit it does not, but what is wrong is the node, and told of it: then the gateway is
 * not known.
 */
export function gatewayCondition(
  { ok, message }: ReadinessCheck,
  { fitness, facts }: Readonly<{ fitness: NodeFitness; facts: NodeFacts }>,
): ConditionReport {
  const type = "GatewayServing";
  const isUnfit = fitness !== "fit" || !isAnswering(facts);
  if (ok && fitness !== "down" && fitness !== "anotherChain") {
    return { type, status: "True", reason: "Serving", message: `The gateway is ${message}.` };
  }
  if (isUnfit)
    return { type, status: "Unknown", reason: "NodeUnfit", message: "The gateway refuses calls: its node is unfit." };
  return {
    type,
    status: "False",
    reason: "NoHead",
    message: `The gateway does not serve: ${message}, although it answers the sidecar. Look at node.webSocketUrl, and at the gateway's log.`,
  };
}
