import { setTimeout as sleep } from "node:timers/promises";
import { until } from "#daemon/testing/until.ts";
import { watchdog } from "./live-fault.ts";
import type { ActiveAlert, RunningPrometheus } from "../../support/prometheus/prometheus.ts";

/** Observations of an idle stack. */
export type QuietHour = Readonly<{
  scale: number;
  seconds: number;
  looks: number;
  /** Alerts that were pending for a while and then inactive again, as is allowed without flapping. */
  pendingMeanwhile: readonly string[];
}>;

const hourMs = 3_600_000;
const lookEveryMs = 250;
const settledWithinMs = 120_000;

/**
 * Watches an idle stack for an hour of its rules' time, once it has settled after its start.
 *
 * @throws {Error} if an alert fires meanwhile, or is pending at the end.
 */
export async function seeQuietHour(
  { prometheus }: Readonly<{ prometheus: Pick<RunningPrometheus, "alerts" | "query"> }>,
  scale: number,
): Promise<QuietHour> {
  const look = async () => (await prometheus.alerts()).filter((alert) => getName(alert) !== watchdog);
  await until("the stack is at rest", settledWithinMs, async () => (await look()).length === 0);
  const pending = new Set<string>();
  const startedAt = performance.now();
  let looks = 0;
  let seen: readonly ActiveAlert[] = [];
  while (performance.now() - startedAt < hourMs / scale) {
    seen = await look();
    looks += 1;
    const firing = seen.filter(({ state }) => state === "firing").map(getName);
    if (firing.length > 0) throw new Error(`${firing.join(", ")} fires at rest`);
    for (const alert of seen) pending.add(getName(alert));
    await sleep(lookEveryMs);
  }
  if (seen.length > 0) throw new Error(`${seen.map(getName).join(", ")} is pending at the end of the hour`);
  const up = await prometheus.query("up == 1");
  if (up.length === 0) throw new Error("nothing was scraped, so that nothing could fire");
  return {
    scale,
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    looks,
    pendingMeanwhile: [...pending].toSorted(),
  };
}

function getName({ labels }: ActiveAlert): string {
  return labels["alertname"] ?? "";
}
