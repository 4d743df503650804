import { setTimeout as sleep } from "node:timers/promises";
import type { Severity } from "#infra/observability/alert.ts";
import { until } from "#daemon/testing/until.ts";
import type { ActiveAlert, RunningPrometheus } from "../../support/prometheus/prometheus.ts";

/** A real fault, and the alert that reports it. `T` is what the fault affects. */
export type LiveFault<T> = Readonly<{
  alert: `Gatehouse${string}`;
  /** Severity with which it fires, for an alert that has two. */
  severity?: Severity;
  /** Description of the fault. */
  what: string;
  /** Alerts that the same fault must also cause: stopping a node makes calls fail, too. */
  besides?: readonly `Gatehouse${string}`[];
  /** Max time until the alert fires, in addition to its rule's `for`. */
  firesWithinMs?: number;
  /** Time for which the alert must keep firing. */
  steadyMs?: number;
  /** Max time until nothing fires any more. */
  resolvesWithinMs?: number;
  /** Prepares the fault; not timed. */
  prepare?: (struck: T) => Promise<unknown>;
  /** Causes the fault; disposing of the result repairs it. */
  strike: (struck: T) => Promise<AsyncDisposable>;
}>;

/** Observations of one fault. */
export type SeenFault = Readonly<{
  alert: string;
  what: string;
  firedAfterSeconds: number;
  resolvedAfterSeconds: number;
  /** Other alerts that fired with it. */
  besides: readonly string[];
}>;

/** The alert that fires as long as Prometheus evaluates rules; only a run that tests it loads it. */
export const watchdog = "GatehouseWatchdog";

const quietWithinMs = 120_000;
/** Default time for which a firing alert is watched: it must not flap during the fault. */
const usualSteadyMs = 4_000;
const lookEveryMs = 250;

/**
 * Causes a fault, waits until its alert fires, checks that it keeps firing, repairs the fault, and waits until nothing
 * fires.
 *
 * @throws {Error} if the alert does not fire or resolve in time, flaps, or if another one fires.
 */
export async function seeFault<T extends Readonly<{ prometheus: RunningPrometheus }>>(
  fault: LiveFault<T>,
  struck: T,
): Promise<SeenFault> {
  const { alert, what, severity, besides = [] } = fault;
  const seen = new Set<string>();
  const firing = async () => {
    const found = await listFiringAlerts(struck.prometheus);
    for (const name of found.keys()) seen.add(name);
    return found;
  };
  const isFiring = async () => {
    const severities = (await firing()).get(alert);
    return severity === undefined ? severities !== undefined : severities?.has(severity) === true;
  };
  // Nothing may be pending either: an alert pending from the previous fault would fire in this one.
  await until(`nothing fires or pends before: ${what}`, quietWithinMs, async () => {
    const active = (await struck.prometheus.alerts()).filter(({ labels }) => labels["alertname"] !== watchdog);
    if (active.length > 0) throw new Error(active.map(describeAlert).join("; "));
    return true;
  });
  await fault.prepare?.(struck);
  seen.clear();
  const struckAt = performance.now();
  let fixedAt = 0;
  let firedAfterMs = 0;
  {
    await using _ = await fault.strike(struck);
    await until(`${alert} fires`, fault.firesWithinMs ?? 90_000, isFiring).catch(async (cause: unknown) => {
      const fired = [...seen].join(", ") || "nothing";
      const wrong = await listWrongConditions(struck.prometheus);
      throw new Error(`${(cause as Error).message}; fired: ${fired}; wrong: ${wrong}`, { cause });
    });
    firedAfterMs = performance.now() - struckAt;
    const steadyUntil = performance.now() + (fault.steadyMs ?? usualSteadyMs);
    while (performance.now() < steadyUntil) {
      await sleep(lookEveryMs);
      if (!(await isFiring())) throw new Error(`${alert} flaps: it ended while the fault was there`);
    }
    fixedAt = performance.now();
  }
  const resolvesWithinMs = fault.resolvesWithinMs ?? 120_000;
  await until(`${alert} ends`, resolvesWithinMs, async () => !(await isFiring()));
  const resolvedAfterMs = performance.now() - fixedAt;
  await until(`all is silent after ${alert}`, resolvesWithinMs, async () => (await firing()).size === 0);
  const unexpected = [...seen].filter((name) => name !== alert && !besides.some((expected) => expected === name));
  if (unexpected.length > 0) throw new Error(`besides ${alert}, these fired: ${unexpected.join(", ")}: ${what}`);
  return {
    alert,
    what,
    firedAfterSeconds: Math.round(firedAfterMs / 100) / 10,
    resolvedAfterSeconds: Math.round(resolvedAfterMs / 100) / 10,
    besides: [...seen].filter((name) => name !== alert).toSorted(),
  };
}

/** Lists the conditions that are wrong now, with their reasons, to explain why nothing fires. */
async function listWrongConditions({ query }: Pick<RunningPrometheus, "query">): Promise<string> {
  const wrong = await query("gatehouse_condition_info and on (job, instance, type) gatehouse_condition == 0");
  return wrong.map(({ metric }) => `${metric["type"]} ${metric["reason"]}`).join(", ") || "nothing";
}

function describeAlert({ state, labels, annotations }: ActiveAlert): string {
  return `${labels["alertname"]} is ${state}: ${annotations["summary"]}`;
}

/** Names of the alerts that fire now, each with its severities, except for the one that always fires. */
export async function listFiringAlerts({
  alerts,
}: Pick<RunningPrometheus, "alerts">): Promise<ReadonlyMap<string, ReadonlySet<string | undefined>>> {
  const firing = (await alerts()).filter(({ state, labels }) => state === "firing" && labels["alertname"] !== watchdog);
  const byName = Map.groupBy(firing, ({ labels }) => labels["alertname"] ?? "");
  return new Map([...byName].map(([name, some]) => [name, new Set(some.map(({ labels }) => labels["severity"]))]));
}
