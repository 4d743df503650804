import type { HealthWatch } from "#health/health-watch.ts";

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
  health: Pick<HealthWatch, "facts" | "ranMs">,
): Silence | undefined {
  const fault = health.facts().rpc?.fault;
  if (fault === undefined) {
    memory.silence = undefined;
    return undefined;
  }
  const { sinceMs = health.ranMs(), portWasClosed = false } = memory.silence ?? {};
  memory.silence = { sinceMs, portWasClosed: portWasClosed || fault.reason === "Refused" };
  return memory.silence;
}
