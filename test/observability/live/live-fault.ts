import { setTimeout as sleep } from "node:timers/promises";
import type { Severity } from "#infra/observability/alert.ts";
import { until } from "#daemon/testing/until.ts";
import type { ActiveAlert, RunningPrometheus } from "../../support/prometheus/prometheus.ts";

/** A fault that is really made, and the alert that reports it. `T` is what it strikes. */
export type LiveFault<T> = Readonly<{
  alert: `Gatehouse${string}`;
  /** Severity with which it fires, for an alert that has two. */
  severity?: Severity;
  /** Fault in words, as a person would say it. */
  what: string;
  /** Alerts that the same fault gives rise to, and has to: whoever stops a node has callers that fail. */
  besides?: readonly `Gatehouse${string}`[];
  /** Longest time until the alert fires, besides the wait of its rule. */
  firesWithinMs?: number;
  /** Time for which the alert has to go on firing. */
  steadyMs?: number;
  /** Longest time until all is silent again. */
  resolvesWithinMs?: number;
  /** Prepares the fault; not timed. */
  prepare?: (struck: T) => Promise<unknown>;
  /** Makes the fault; disposing of what it returns repairs it. */
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

/** The alert that fires for as long as Prometheus judges rules; it is loaded by a run that shows that. */
export const watchdog = "GatehouseWatchdog";

const quietWithinMs = 120_000;
/** Time for which an alert that fires is watched by default: it may not flap while the fault is there. */
const usualSteadyMs = 4_000;
const lookEveryMs = 250;

/**
 * Makes a fault, waits until its alert fires, sees that it goes on firing, fixes the fault, and waits until nothing fires.
 *
 * @throws {Error} when the alert does not fire or end in time, flaps, or one fires that should not.
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
  // Nor is anything about to: what the fault before left pending would fire in this one.
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

/** Lists the conditions that are wrong now, with their reasons, for whoever looks why nothing fires. */
async function listWrongConditions({ query }: Pick<RunningPrometheus, "query">): Promise<string> {
  const wrong = await query("gatehouse_condition_info and on (job, instance, type) gatehouse_condition == 0");
  return wrong.map(({ metric }) => `${metric["type"]} ${metric["reason"]}`).join(", ") || "nothing";
}

function describeAlert({ state, labels, annotations }: ActiveAlert): string {
  return `${labels["alertname"]} is ${state}: ${annotations["summary"]}`;
}

/** Names of the alerts that fire now, but for the one that always does, each with its severities. */
export async function listFiringAlerts({
  alerts,
}: Pick<RunningPrometheus, "alerts">): Promise<ReadonlyMap<string, ReadonlySet<string | undefined>>> {
  const firing = (await alerts()).filter(({ state, labels }) => state === "firing" && labels["alertname"] !== watchdog);
  const byName = Map.groupBy(firing, ({ labels }) => labels["alertname"] ?? "");
  return new Map([...byName].map(([name, some]) => [name, new Set(some.map(({ labels }) => labels["severity"]))]));
}
