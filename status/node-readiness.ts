import { judgeReadiness, type Readiness, type ReadinessCheck } from "#daemon/http/readiness.ts";
import type { ConditionBoard } from "./condition-board.ts";
import { barsTraffic, neededForTraffic } from "./verdict.ts";

/** Reads from the board whether the node can take traffic, for `/readyz` and the verdict. */
export function readNodeReadiness(board: ConditionBoard): Readiness {
  const checks = neededForTraffic.map((type): [string, ReadinessCheck] => {
    const condition = board.get(type);
    const message = condition?.message ?? "not known yet";
    const isAwaited = condition === undefined || condition.reason === "WaitingForHead";
    return [type, { ok: !isAwaited && !barsTraffic(condition), message }];
  });
  // A slow gateway still serves, and the node is not at fault, so this is reported but does not stop traffic.
  const slow = board.get("GatewayResponsive");
  const responsive = { ok: true, message: slow?.message ?? "not known yet" };
  return judgeReadiness({ ...Object.fromEntries(checks), GatewayResponsive: responsive });
}
