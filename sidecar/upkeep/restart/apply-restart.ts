import type { Clock } from "#daemon/clock.ts";
import { isBetweenVersions, type Authority } from "../adoption/authority.ts";
import type { CommandText } from "../command-text.ts";
import { isUndoneByStart } from "../config/apply-config.ts";
import type { ConfigReading } from "../config/config-file.ts";
import type { ObservedConfig } from "../config/config-observation.ts";
import type { CorrectionRate } from "../config/correction-rate.ts";
import { explainRejectedEdit, type EditOptions, type RejectedEditDependencies } from "../config/refused-edit.ts";
import { isUselessToNode } from "#node/conf/problem.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { Plan } from "../plan/plan.ts";
import type { HeldState, UpkeepState } from "../state/upkeep-state.ts";
import { startRestart, type BeginRestartDependencies, type RestartSeen } from "./begin-restart.ts";
import { findDueRestart, markCompletedRestart, type DueRestartDependencies } from "./due-restart.ts";
import type { MaintenanceWindow } from "./maintenance-window.ts";
import { hasReadAlready, isAsBeforeDrift, type ConfigReadDependencies } from "./read-already.ts";
import { decideRestart, type RestartSituation } from "./restart-decision.ts";

/** Findings of the current iteration. */
export type RestartRequest = Readonly<{
  planned: Plan;
  reading: ConfigReading;
  version: NodeVersion | undefined;
  desired: HeldState;
  authority: Authority;
  /** Whether node_cli is enabling pruning: it communicates with the running node, and a restart would interrupt it. */
  isPruning: () => boolean;
}>;

export type ApplyRestartSeen = RestartSeen & Readonly<{ config: ObservedConfig }>;

export type ApplyRestartDependencies = BeginRestartDependencies &
  DueRestartDependencies &
  ConfigReadDependencies &
  Omit<RejectedEditDependencies, "config"> &
  Readonly<{
    metrics: Readonly<{ restartsInLastHour: (count: number) => void }>;
    window: MaintenanceWindow;
    rate: CorrectionRate;
  }>;

/** Starts a restart if one is due and allowed; otherwise records the reason. The restart runs in parallel with later iterations. */
export async function applyRestart(
  request: RestartRequest,
  seen: ApplyRestartSeen,
  dependencies: ApplyRestartDependencies,
): Promise<Readonly<{ wakeInMs?: number }>> {
  const { planned, reading, version, desired, authority, isPruning } = request;
  const { settings, state, clock, metrics, budget, driver } = dependencies;
  const { config, process, restarts } = seen;
  const { settleMs, answersWithinMs, hungAfterMs } = settings.restart;
  if (restarts.now().running === undefined) await markCompletedRestart(dependencies);
  const isRestarting = restarts.now().running !== undefined;
  const lag = { isRestarted: settings.lag.restart, restartAfterMs: settings.lag.restartAfterMs };
  const limits = { isRestarting, unhealthy: lag, answersWithinMs, hungAfterMs };
  const due = await findDueRestart(planned, process, limits, dependencies);
  const found = { config: config.now(), process, version };
  if (due?.cause === "configuration" && (await hasReadAlready(reading, found, dependencies))) return { wakeInMs: 1 };
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
      isUnusable: !reading.ok && isUselessToNode(reading.problem.reason),
      isKept: state.store.failure() === undefined,
      settledForMs: isPruning() ? 0 : clock.monotonicMs() - config.now().contentSinceMs,
      settleMs,
      contested: findContest(request, config, dependencies),
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
    },
    dependencies,
  );
  metrics.restartsInLastHour(budget.used());
  if (decision.go && decision.due.cause === "configuration" && reading.ok) {
    const refusal = await explainRejectedEdit(reading, buildEditOptions(request, seen, dependencies), {
      ...dependencies,
      config,
    });
    if (refusal !== undefined) {
      const { words, isUnjudged = false } = refusal;
      restarts.note({ settled: isUnjudged ? { unjudgedEdit: words } : { refusedEdit: words } });
      return refusal.wakeInMs === undefined ? {} : { wakeInMs: refusal.wakeInMs };
    }
  }
  if (decision.go && driver !== undefined) startRestart(decision.due, { desired, driver }, seen, dependencies);
  restarts.note({ settled: decision });
  return decision.go || decision.wakeInMs === undefined ? {} : { wakeInMs: decision.wakeInMs };
}

function buildEditOptions(
  { version }: RestartRequest,
  { process, restarts }: ApplyRestartSeen,
  { settings, driver, signal }: Pick<ApplyRestartDependencies, "settings" | "driver" | "signal">,
): EditOptions {
  return {
    version,
    seesFiles: driver?.name === "ops",
    urls: settings.node,
    keptHash: restarts.now().kept?.hash,
    beganBefore: process.now().requestedStart?.began === "before",
    checkCommand: settings.restart.checkCommand,
    timeoutMs: settings.restart.timeoutMs,
    passes: settings.node.environment,
    signal,
  };
}

/**
 * Determines until when node.conf counts as contested because another program keeps writing it; undefined if no program does. A program
 * that keeps writing the same drift also counts, if the node most likely still runs with the corrected content, as it did before the drift.
 * Restarting the node for each correction would be a restart storm, however slow.
 */
function findContest(
  { reading, version }: RestartRequest,
  config: ObservedConfig,
  {
    rate,
    clock,
    command,
    state,
  }: Readonly<{
    rate: CorrectionRate;
    clock: Clock;
    command: CommandText;
    state: Pick<UpkeepState, "nodeHas">;
  }>,
): RestartSituation["contested"] {
  if (reading.ok && isUndoneByStart(reading, version, { rate, state }))
    return { untilMs: undefined, resume: command("resume") };
  const isBefore = isAsBeforeDrift(reading, config.now(), version, state);
  const untilMs = rate.contestedUntilMs() ?? (isBefore ? rate.repeatedUntilMs() : undefined);
  if (untilMs === undefined) return undefined;
  return { untilMs: clock.wallMs() + untilMs - clock.monotonicMs(), resume: command("resume") };
}
