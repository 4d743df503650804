import { doneBySidecar } from "#status/event-log.ts";
import { readInstanceId } from "../drivers/driver.ts";
import type { Plan } from "../plan/plan.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { findRequestedRestart } from "./requested-restart.ts";
import { hasRecovered } from "./pause.ts";
import type { RestartContext } from "./restart-context.ts";
import type { DueRestart } from "./restart-decision.ts";
import { explainHungNode, explainUnhealthyNode } from "./unhealthy-restart.ts";

export async function findDueRestart(planned: Plan, context: RestartContext): Promise<DueRestart | undefined> {
  const { restarts, state } = context;
  const isRestarting = restarts.now().running !== undefined;
  const interruptedRestart = state.restartInFlight.get();
  if (interruptedRestart !== undefined && !isRestarting) {
    const { phase, isFinishing } = interruptedRestart;
    const cause = phase === "verifying" ? "unverified" : "interrupted";
    const reason = isFinishing ? interruptedRestart.reason : `a restart was interrupted: ${interruptedRestart.reason}`;
    // The budget was charged when the restart started. Only the first attempt to finish it is free: a sidecar that is killed at each
    // attempt gets no more free ones.
    return { cause, reason, urgent: true, isCharged: !isFinishing };
  }
  const retry = isRestarting ? undefined : findRetry(context);
  if (retry !== undefined) {
    const reason = `${retry.why}, so the failed restart is retried: ${retry.reason}`;
    // A retry at the operator's request is not a restart storm, which the budget must stop; retries caused by an alternating version would
    // be one.
    const isCharged = retry.isRequested === true;
    return { cause: "retried", reason, firstReason: retry.reason, urgent: true, isCharged };
  }
  const requestedRestart = isRestarting ? undefined : findRequestedRestart(context);
  if (requestedRestart !== undefined) return requestedRestart;
  const sick = (await explainUnhealthyNode(context)) ?? (await explainHungNode(context));
  if (sick !== undefined) return { cause: "unhealthy", reason: sick, urgent: true };
  const restart = planned.actions.find((action) => action.kind === "restart");
  // The node isn't started with a file that still needs correcting.
  const needsConfigWrite = planned.actions.some((action) => action.kind === "write-config");
  if (restart === undefined || needsConfigWrite) return undefined;
  return { cause: "configuration", reason: restart.reason, urgent: false };
}

/** Finds the failed restart to retry; drops it if the node has since been started externally. */
function findRetry({ state, events, health }: RestartContext): ReturnType<UpkeepState["retry"]["get"]> {
  const retry = state.retry.get();
  if (retry === undefined || !hasRecovered(retry, health.current())) return retry;
  state.atomically(() => {
    state.retry.set(undefined);
    const message = `The node has recovered in the meantime, so this is not retried: ${retry.reason}.`;
    events.add("restart", message, undefined, doneBySidecar);
  });
  return undefined;
}

/** Marks an earlier sidecar's restart as completed. A sidecar that deletes its own pod never sees the restart, and would request it forever. */
export async function markCompletedRestart({ state, driver, signal }: RestartContext): Promise<void> {
  const interruptedRestart = state.restartInFlight.get();
  if (driver === undefined || interruptedRestart?.phase !== "commanded") return;
  if (interruptedRestart.incarnation === undefined) return;
  const now = await readInstanceId(driver, signal);
  if (now === undefined || now === interruptedRestart.incarnation) return;
  state.restartInFlight.set({ ...interruptedRestart, phase: "verifying" });
}
