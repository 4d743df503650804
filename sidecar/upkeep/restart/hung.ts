import { nodeStart } from "./node-start.ts";
import { recordSilence } from "./silence.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { ObservedProcess } from "./process-observation.ts";

/**
 * Why the node is to be restarted because it hangs: since its start it answered `eth_blockNumber` (specification, "Node command line"), and it
 * has not for `restart.hungAfterMs`. One that replays its log has not answered since its start, and is left to it, however long that
 * takes; so is one whose driver can't tell when it started.
 */
export async function hung(
  process: ObservedProcess,
  { hungAfterMs }: Readonly<{ hungAfterMs: number }>,
  dependencies: Readonly<{
    health: Pick<HealthWatch, "current" | "facts" | "ranMs">;
    driver: NodeDriver | undefined;
    signal: AbortSignal;
  }>,
): Promise<string | undefined> {
  const { health } = dependencies;
  const silence = recordSilence(process, health);
  if (silence === undefined) return undefined;
  const silentForMs = health.ranMs() - silence.sinceMs;
  const { answeredAtMs } = health.current();
  if (hungAfterMs === 0 || silentForMs < hungAfterMs || answeredAtMs === undefined) return undefined;
  const startedAt = await nodeStart(process, dependencies);
  if (typeof startedAt !== "number" || startedAt > answeredAtMs) return undefined;
  return `the node hangs: it runs since ${new Date(startedAt).toISOString()} and has not answered for ${Math.round(silentForMs / 1_000)} s`;
}
