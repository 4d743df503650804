import type { HealthWatch } from "#health/health-watch.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { readInstanceId, type NodeDriver } from "../drivers/driver.ts";
import type { Plan } from "../plan/plan.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { findRequestedRestart } from "./requested-restart.ts";
import { isBack } from "./hold.ts";
import type { ObservedProcess } from "./restart-observation.ts";
import type { DueRestart } from "./restart-decision.ts";
import { explainHung, explainUnhealthy, type HealthDependencies } from "./unhealthy.ts";

/** Limits from which a restart is due for the node's health. */
export type DueRestartOptions = Readonly<{
  /** Whether a restart is running: then none is due. */
  isRestarting: boolean;
  /** `lag.restart` and `lag.restartAfterMs`. */
  unhealthy: Readonly<{ isRestarted: boolean; restartAfterMs: number }>;
  answersWithinMs: number;
  hungAfterMs: number;
}>;

export type DueRestartDependencies = HealthDependencies &
  Readonly<{
    state: Pick<UpkeepState, "atomically" | "requestedRestart" | "restartInFlight" | "retry">;
    health: Pick<HealthWatch, "current" | "facts" | "ranMs">;
    driver: NodeDriver | undefined;
    events: EventLog;
  }>;

/** Finds why the node is to be restarted: to finish an interrupted restart, to retry a failed one, because a person asked, for its health, or for node.conf. */
export async function findDueRestart(
  planned: Plan,
  process: ObservedProcess,
  options: DueRestartOptions,
  dependencies: DueRestartDependencies,
): Promise<DueRestart | undefined> {
  const { state } = dependencies;
  const { isRestarting, answersWithinMs } = options;
  const interrupted = state.restartInFlight.get();
  if (interrupted !== undefined && !isRestarting) {
    const { phase, isFinishing } = interrupted;
    const cause = phase === "verifying" ? "unverified" : "interrupted";
    const reason = isFinishing ? interrupted.reason : `a restart was interrupted: ${interrupted.reason}`;
    // The budget was charged when it began. A sidecar that is killed at each attempt does not get a free one each time.
    return { cause, reason, urgent: true, isCharged: !isFinishing };
  }
  const retry = isRestarting ? undefined : findRetry(dependencies);
  if (retry !== undefined) {
    const reason = `${retry.why}, so what failed is tried again: ${retry.reason}`;
    // A person's word is no storm that the budget has to end. A version that alternates would be one.
    const isCharged = retry.isAsked === true;
    return { cause: "retried", reason, firstReason: retry.reason, urgent: true, isCharged };
  }
  const requested = isRestarting ? undefined : findRequestedRestart(dependencies);
  if (requested !== undefined) return requested;
  const sick =
    (await explainUnhealthy(process, { ...options.unhealthy, answersWithinMs }, dependencies)) ??
    (await explainHung(process, options, dependencies));
  if (sick !== undefined) return { cause: "unwell", reason: sick, urgent: true };
  const restart = planned.actions.find((action) => action.kind === "restart");
  // The node is not started with a file that is still to be corrected.
  const uncorrected = planned.actions.some((action) => action.kind === "write-config");
  if (restart === undefined || uncorrected) return undefined;
  return { cause: "configuration", reason: restart.reason, urgent: false };
}

/** Finds the failed restart to try again; drops it if somebody has started the node meanwhile. */
function findRetry({
  state,
  events,
  health,
}: Pick<DueRestartDependencies, "state" | "events" | "health">): ReturnType<UpkeepState["retry"]["get"]> {
  const retry = state.retry.get();
  if (retry === undefined || !isBack(retry, health.current())) return retry;
  state.atomically(() => {
    state.retry.set(undefined);
    const message = `The node has come back meanwhile, so this is not tried again: ${retry.reason}.`;
    events.add("restart", message, undefined, doneBySidecar);
  });
  return undefined;
}

/**
 * Marks a restart that an earlier sidecar requested, and that has happened since, as lacking only its proof. A sidecar in the pod that it
 * deletes always ends before it can see that: requested again each time, the restart would never end.
 */
export async function recognizeMade({
  state,
  driver,
  signal,
}: Readonly<{
  state: Pick<UpkeepState, "restartInFlight">;
  driver: NodeDriver | undefined;
  signal: AbortSignal;
}>): Promise<void> {
  const interrupted = state.restartInFlight.get();
  if (driver === undefined || interrupted?.phase !== "commanded") return;
  if (interrupted.incarnation === undefined) return;
  const now = await readInstanceId(driver, signal);
  if (now === undefined || now === interrupted.incarnation) return;
  state.restartInFlight.set({ ...interrupted, phase: "verifying" });
}
