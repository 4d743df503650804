import { isBetweenVersions, type Permissions } from "../adoption/authority.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { isResponding } from "#health/rpc-state.ts";
import { isUnusableByNode } from "#node/conf/problem.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { Plan } from "../plan/plan.ts";
import type { PauseBasis, UpkeepState } from "../state/upkeep-state.ts";
import { hasNodeReadConfig, isDriftOnly, readNodeStart } from "./node-start.ts";
import { explainRejectedEdit } from "./rejected-edit.ts";
import type { RestartContext } from "./restart-context.ts";
import { decideRestart, type RestartSituation, type DueRestart } from "./restart-decision.ts";
import { type NodeDriver, readInstanceId } from "../drivers/driver.ts";
import { runRestart, type RestartIncident } from "./restart-incident.ts";
import { rollBack } from "./rollback.ts";
import { doneBySidecar } from "#status/event-log.ts";
import { findRequestedRestart } from "./requested-restart.ts";
import { hasRecovered } from "./pause.ts";
import { explainHungNode, explainUnhealthyNode } from "./unhealthy-restart.ts";

type RestartRequest = Readonly<{
  planned: Plan;
  reading: ConfigReading;
  version: NodeVersion | undefined;
  desired: PauseBasis;
  authority: Permissions;
}>;

/** Starts a restart if one is due and allowed; otherwise records the reason. The restart runs in parallel with later iterations. */
export async function applyRestart(
  request: RestartRequest,
  context: RestartContext,
): Promise<Readonly<{ wakeInMs?: number }>> {
  const { planned, reading, version, desired, authority } = request;
  const { settings, config, process, restarts, state, clock, metrics, budget, driver } = context;
  if (restarts.now().running === undefined) await markCompletedRestart(context);
  const due = await findDueRestart(planned, context);
  if (due?.cause === "configuration" && (await hasNodeReadConfig(reading, version, context))) return { wakeInMs: 1 };
  const decision = decideRestart(
    {
      due,
      authority,
      held: state.hold.get() !== undefined,
      // Between two versions, only the upgrade may start the node.
      running: restarts.now().running !== undefined || isBetweenVersions(state),
      stage: restarts.now().stage,
      startingUntilMs: process.now().startingUntilMs,
      canRestart: driver !== undefined,
      driverProblem: await driver?.problem?.(),
      stoppedStart: await findStoppedStart(context),
      isUnusable: !reading.ok && isUnusableByNode(reading.problem.reason),
      isKept: state.store.failure() === undefined,
      settledForMs: context.isPruning() ? 0 : clock.monotonicMs() - config.now().contentSinceMs,
      settleMs: settings.restart.settleMs,
      contested: findContest(request, context),
      restart: context.command("restart"),
      wallMs: clock.wallMs(),
    },
    context,
  );
  metrics.restartsInLastHour(budget.used());
  if (decision.go && decision.due.cause === "configuration") {
    const rejection = reading.ok ? await explainRejectedEdit(reading, version, context) : undefined;
    if (rejection !== undefined) {
      const { text, isUnchecked = false } = rejection;
      restarts.note({ settled: isUnchecked ? { uncheckedEdit: text } : { rejectedEdit: text } });
      return {};
    }
  }
  if (decision.go && driver !== undefined) startRestart(decision.due, desired, driver, context);
  restarts.note({ settled: decision });
  return decision.go || decision.wakeInMs === undefined ? {} : { wakeInMs: decision.wakeInMs };
}

/** Returns the command that starts the node's container, if that is stopped. The name of a stopped container may not even resolve. */
async function findStoppedStart(context: RestartContext): Promise<string | undefined> {
  const { driver, health, signal } = context;
  if (driver?.startCommand === undefined || isResponding(health.facts())) return undefined;
  const isStopped =
    driver.runs === undefined
      ? (await readNodeStart(context)) === "not-running"
      : (await driver.runs(signal)) === false;
  return isStopped ? driver.startCommand() : undefined;
}

/**
 * A program that keeps writing the same drift also counts if the node is most likely still running with the corrected content: a restart
 * per correction would be a restart storm, however slow.
 */
function findContest({ reading, version }: RestartRequest, context: RestartContext): RestartSituation["contested"] {
  const { otherWriter } = context.config.now();
  const resume = context.command("resume");
  if (otherWriter?.kind === "start") return { untilMs: undefined, resume };
  if (otherWriter === undefined) return undefined;
  const isOften = otherWriter.perMinute !== undefined;
  return isOften || isDriftOnly(reading, version, context) ? { untilMs: otherWriter.untilMs, resume } : undefined;
}

function startRestart(due: DueRestart, desired: PauseBasis, driver: NodeDriver, context: RestartContext): void {
  const { settings, process, restarts, metrics, observer, wake, signal, log } = context;
  const incident: RestartIncident = { ...context, due, desired, driver };
  metrics.restarted(due.cause);
  const running = restartOrRollBack(incident)
    .catch((error: unknown) => pauseAfterError(error as Error, incident))
    .finally(() => {
      process.note({ unhealthy: undefined, unresponsive: undefined });
      restarts.note({ running: undefined, stage: undefined });
      wake();
    });
  restarts.note({ running });
  // A shutdown in the middle would leave the node down. The wait for the node's exit, the stop command and the start command each have
  // their own time limit.
  context.finishes({ what: "the restart of the node", done: running, withinMs: 3 * settings.restart.timeoutMs });
  // After a restart, node_cli's last response is outdated, and the next periodic check may be far off.
  running
    .then(() => observer.check(signal))
    .catch((error: unknown) =>
      log.error({ event: "node-cli-check-failed", err: error }, "running node_cli after a restart failed"),
    );
}

async function restartOrRollBack(incident: RestartIncident): Promise<void> {
  const { failure } = await runRestart(incident);
  if (failure !== undefined) await rollBack(incident, failure);
}

/** Pauses after an unexpected error: an immediate retry would use up the budget and fail in the same way. */
function pauseAfterError(error: Error, { desired, due, signal, state, events, clock, log }: RestartIncident): void {
  log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
  // The next sidecar continues where this one stopped.
  if (signal.aborted) return;
  const message = `A restart of the node was aborted: ${error.message} See the event restart-failed in the sidecar's log, and check whether the node runs.`;
  state.atomically(() => {
    const failed = { reason: due.firstReason ?? due.reason };
    state.hold.set({ desired, message, sinceMs: clock.wallMs(), failed });
    state.restartInFlight.set(undefined);
    events.fail("hold", "A restart of the node was aborted.", error.message, { by: "sidecar" });
  });
}

async function findDueRestart(planned: Plan, context: RestartContext): Promise<DueRestart | undefined> {
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
async function markCompletedRestart({ state, driver, signal }: RestartContext): Promise<void> {
  const interruptedRestart = state.restartInFlight.get();
  if (driver === undefined || interruptedRestart?.phase !== "commanded") return;
  if (interruptedRestart.incarnation === undefined) return;
  const now = await readInstanceId(driver, signal);
  if (now === undefined || now === interruptedRestart.incarnation) return;
  state.restartInFlight.set({ ...interruptedRestart, phase: "verifying" });
}
