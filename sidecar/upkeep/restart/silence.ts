import type { HealthWatch } from "#health/health-watch.ts";
import type { ObservedProcess, Silence } from "./process-observation.ts";

/** Notes whether the node is silent, and since when. */
export function recordSilence(
  process: ObservedProcess,
  health: Pick<HealthWatch, "facts" | "ranMs">,
): Silence | undefined {
  const fault = health.facts().rpc?.fault;
  const { sinceMs = health.ranMs(), portWasClosed = false } = process.now().silence ?? {};
  const silence =
    fault === undefined ? undefined : { sinceMs, portWasClosed: portWasClosed || fault.reason === "Refused" };
  process.note({ silence });
  return silence;
}
