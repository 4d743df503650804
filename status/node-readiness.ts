import { evaluateReadiness, type Readiness, type ReadinessCheck } from "#daemon/http/readiness.ts";
import type { ConditionBoard } from "./condition-board.ts";
import type { Condition } from "./condition.ts";

/** Conditions that must be met for the node to take traffic; `/readyz` requires the same ones. */
export const trafficConditions = ["RpcResponding", "ChainIdMatches", "HeightAdvancing", "GatewayServing"] as const;

/**
 * Returns whether a condition that is needed for traffic blocks it. A node keeps serving the blocks it has unless a reference reports that
 * it is missing one. A gateway whose node can't take traffic does not serve, although another condition reports the fault.
 */
export function blocksTraffic({ status, reason }: Pick<Condition, "status" | "reason">): boolean {
  return reason === "NodeUnhealthy" || (status === "False" && reason !== "NoNewBlock");
}

/** Reads from the board whether the node can take traffic, for `/readyz` and the verdict. */
export function readNodeReadiness(board: ConditionBoard): Readiness {
  const checks = trafficConditions.map((type): [string, ReadinessCheck] => {
    const condition = board.get(type);
    const message = condition?.message ?? "not known yet";
    const isAwaited = condition === undefined || condition.reason === "WaitingForHead";
    return [type, { ok: !isAwaited && !blocksTraffic(condition), message }];
  });
  // A slow gateway still serves, and the node is not at fault, so this is reported but does not stop traffic.
  const slow = board.get("GatewayResponsive");
  const responsive = { ok: true, message: slow?.message ?? "not known yet" };
  return evaluateReadiness({ ...Object.fromEntries(checks), GatewayResponsive: responsive });
}
