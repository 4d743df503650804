import { saveHealthyConfig } from "../config/healthy-config.ts";
import { authorityOf } from "../adoption/authority.ts";
import { decideRestart, type DueRestart, type RestartDecision } from "./restart-decision.ts";
import { beforeRestart } from "./process-watch.ts";
import { runRestart, type RestartIncident, type RestartIncidentDependencies } from "./restart-incident.ts";
import { rollBack } from "./roll-back.ts";
import { instanceIdOf } from "../drivers/driver.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { isUselessToNode } from "#node/conf/problem.ts";
import type { Plan } from "../plan/plan.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";
import type { HeldState } from "../state/upkeep-state.ts";
import { hasReadAlready, isAsBeforeDrift } from "./read-already.ts";
import { refusedEdit } from "../config/refused-edit.ts";
import { hung } from "./hung.ts";
import { isBack } from "./hold.ts";
import { unwell } from "./unwell.ts";

/** Begins a restart if one is due and may be, and says why not otherwise. The restart goes on beside later passes. */
export async function applyRestart(
  planned: Plan,
  reading: ConfigReading,
  desired: HeldState,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<Readonly<{ wakeInMs?: number }>> {
  const { settings, state, clock, board, metrics, budget } = parts;
  await recognizeMade(memory, parts);
  const due = await dueRestart(planned, memory, parts);
  if (due?.cause === "configuration" && (await hasReadAlready(reading, memory, parts))) return { wakeInMs: 1 };
  const decision = decideRestart(
    {
      due,
      authority: authorityOf(settings.upkeep.mode, state),
      held: state.hold.get() !== undefined,
      running: memory.restart !== undefined,
      stage: memory.restartStage,
      startingUntilMs: memory.startingUntilMs,
      canRestart: parts.driver !== undefined,
      isUnusable: !reading.ok && isUselessToNode(reading.problem.reason),
      isKept: state.store.failure() === undefined,
      // node_cli talks to the running node: a restart would cut it off.
      settledForMs: memory.pruning === undefined ? clock.monotonicMs() - memory.contentSinceMs : 0,
      settleMs: settings.restart.settleMs,
      contested: contested(reading, memory, parts),
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
    },
    parts,
  );
  metrics.restartsInLastHour(budget.used());
  if (decision.go && decision.due.cause === "configuration" && reading.ok) {
    const refusal = await refusedEdit(reading, memory, parts);
    if (refusal !== undefined) {
      board.set(editRefused(refusal, parts));
      return {};
    }
  }
  if (decision.go) begin(decision.due, desired, memory, parts);
  board.set(restartSettled(decision));
  return decision.go || decision.wakeInMs === undefined ? {} : { wakeInMs: decision.wakeInMs };
}

/**
 * That another program keeps writing node.conf, and until when that counts; also one that writes the same drift again and again, where the node most
 * likely has what stands there, because it had it before: a restart for each correction would be a storm, however slow.
 */
function contested(
  reading: ConfigReading,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Readonly<{ untilMs: number; resume: string }> | undefined {
  const { rate, clock, command } = parts;
  const repeatedUntilMs = isAsBeforeDrift(reading, memory, parts) ? rate.repeatedUntilMs() : undefined;
  const untilMs = rate.contestedUntilMs() ?? repeatedUntilMs;
  if (untilMs === undefined) return undefined;
  return { untilMs: clock.wallMs() + untilMs - clock.monotonicMs(), resume: command("resume") };
}

/**
 * A restart that was asked for before this sidecar began, and has come about since, only lacks its proof. A sidecar in the pod that it
 * deletes always ends before it can see that: asked for anew each time, the restart would never end.
 */
async function recognizeMade(memory: UpkeepMemory, { state, driver, signal }: UpkeepParts): Promise<void> {
  const interrupted = state.restartInFlight.get();
  if (memory.restart !== undefined || driver === undefined || interrupted?.phase !== "commanded") return;
  if (interrupted.incarnation === undefined) return;
  const now = await instanceIdOf(driver, signal);
  if (now === undefined || now === interrupted.incarnation) return;
  state.restartInFlight.set({ ...interrupted, phase: "verifying" });
}

async function dueRestart(planned: Plan, memory: UpkeepMemory, parts: UpkeepParts): Promise<DueRestart | undefined> {
  const interrupted = parts.state.restartInFlight.get();
  if (interrupted !== undefined && memory.restart === undefined) {
    const { phase, isFinishing } = interrupted;
    const cause = phase === "verifying" ? "unverified" : "interrupted";
    const reason = isFinishing ? interrupted.reason : `a restart was interrupted: ${interrupted.reason}`;
    // The budget was charged when it began. A sidecar that is killed at each attempt does not get one for nothing each time.
    return { cause, reason, urgent: true, isCharged: !isFinishing };
  }
  const retry = memory.restart === undefined ? retryOf(parts) : undefined;
  if (retry !== undefined) {
    const reason = `${retry.why}, so what failed is tried again: ${retry.reason}`;
    // A person's word is no storm that the budget has to end. A version that is told now so, now so, would be one.
    const isCharged = retry.isAsked === true;
    return { cause: "retried", reason, firstReason: retry.reason, urgent: true, isCharged };
  }
  const sick = (await unwell(memory, parts)) ?? (await hung(memory, parts));
  if (sick !== undefined) return { cause: "unwell", reason: sick, urgent: true };
  const restart = planned.actions.find((action) => action.kind === "restart");
  // A file that is still to be corrected is no file to start the node with.
  const uncorrected = planned.actions.some((action) => action.kind === "write-config");
  if (restart === undefined || uncorrected) return undefined;
  return { cause: "configuration", reason: restart.reason, urgent: false };
}

/** What is to be tried again, unless somebody has started the node meanwhile. */
function retryOf({ state, events, health }: UpkeepParts): ReturnType<UpkeepParts["state"]["retry"]["get"]> {
  const retry = state.retry.get();
  if (retry === undefined || !isBack(retry, health.current())) return retry;
  state.atomically(() => {
    state.retry.set(undefined);
    events.add("restart", `The node has come back meanwhile, so this is not tried again: ${retry.reason}.`);
  });
  return undefined;
}

function begin(due: DueRestart, desired: HeldState, memory: UpkeepMemory, parts: UpkeepParts): void {
  const { driver, settings, health, place, log } = parts;
  if (driver === undefined) return;
  const incident = {
    reason: due.reason,
    firstReason: due.firstReason ?? due.reason,
    isMade: due.cause === "unverified",
    isFinishing: due.cause === "interrupted",
    desired,
    configPath: place.layout().configPath,
    configLimitBytes: settings.upkeep.configLimitBytes,
    answersWithinMs: settings.restart.answersWithinMs,
    healthyWithinMs: settings.restart.healthyWithinMs,
    metricsWithinMs: settings.restart.metricsWithinMs,
    signal: parts.signal,
  };
  parts.metrics.restarted(due.cause);
  const waitsFor = (stage: string) => {
    memory.restartStage = stage;
    parts.wake();
  };
  const dependencies = {
    ...parts,
    lock: place.lock(),
    patience: place.patience,
    driver,
    look: health.look,
    beforeRestart: () => beforeRestart(driver),
    waitsFor,
    rememberHealthy: (bytes: Uint8Array) => rememberProved(bytes, memory, parts),
  };
  memory.restart = restartOrGoBack(incident, dependencies)
    .catch((error: unknown) => log.error({ err: error }, "the restart of the node failed"))
    .finally(() => {
      memory.restart = undefined;
      memory.unwellSinceMs = undefined;
      memory.silence = undefined;
      memory.restartStage = undefined;
      parts.wake();
    });
  // A stop in the middle would leave the node down: its commands, a stop and a start, have their own time limits.
  parts.finishes({ what: "the restart of the node", done: memory.restart, withinMs: 2 * settings.restart.timeoutMs });
  // What node_cli tells is old after a restart, and the next regular look may be far.
  memory.restart
    .then(() => parts.observer.look(parts.signal))
    .catch((error: unknown) => log.error({ err: error }, "asking node_cli after a restart failed"));
}

/** Remembers what a restart was proved with. */
async function rememberProved(bytes: Uint8Array, memory: UpkeepMemory, parts: UpkeepParts): Promise<void> {
  const isKept = await saveHealthyConfig(bytes, "advanced", parts);
  memory.kept = undefined;
  if (isKept) return;
  const message =
    "The healthy configuration could not be kept: a roll-back would restore an earlier one. Make upkeep.stateDirectory writable.";
  parts.events.add("restart", message);
}

async function restartOrGoBack(incident: RestartIncident, dependencies: RestartIncidentDependencies): Promise<void> {
  const { failure } = await runRestart(incident, dependencies);
  if (failure !== undefined) await rollBack(incident, failure, dependencies);
}

function editRefused(refusal: string, { settings }: UpkeepParts): ConditionReport {
  const byHand = settings.restart.driver === "ops" ? "`ops stop --force`, then `ops start`" : "by its own tool";
  const message =
    `node.conf was changed, and the node would not start with it: ${refusal}. The node runs on with what it has read. ` +
    `Correct node.conf; if you know better, restart the node by hand (${byHand}).`;
  return { type: "RestartSettled", status: "False", reason: "EditRefused", message };
}

function restartSettled(decision: RestartDecision): ConditionReport {
  const type = "RestartSettled";
  if (decision.go) {
    return { type, status: "False", reason: "Running", message: `Restarting the node: ${decision.due.reason}.` };
  }
  const { reason, message } = decision;
  if (reason === "Idle") return { type, status: "True", reason, message };
  return { type, status: "False", reason, message };
}
