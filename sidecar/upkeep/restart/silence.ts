import type { HealthWatch } from "#health/health-watch.ts";
import type { ConditionBoard } from "#status/condition-board.ts";

/** A node's RPC that gives no answer. */
export type Silence = Readonly<{
  /** Since when (`HealthWatch.ranMs`). */
  sinceMs: number;
  /** Whether its port was seen closed since: what runs now is not what answered before. */
  portWasClosed: boolean;
}>;

/** Notes whether the node is silent, and since when. */
export function recordSilence(
  memory: { silence: Silence | undefined },
  { board, health }: Readonly<{ board: ConditionBoard; health: Pick<HealthWatch, "ranMs"> }>,
): Silence | undefined {
  const answering = board.get("RpcAnswering");
  if (answering?.status !== "False") {
    memory.silence = undefined;
    return undefined;
  }
  const { sinceMs = health.ranMs(), portWasClosed = false } = memory.silence ?? {};
  memory.silence = { sinceMs, portWasClosed: portWasClosed || answering.reason === "Refused" };
  return memory.silence;
}
