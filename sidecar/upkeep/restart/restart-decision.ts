import type { ReasonOf } from "#status/condition.ts";
import type { Permissions } from "../adoption/authority.ts";
import type { restartCauses } from "../upkeep-metrics.ts";
import type { RestartBudget } from "./restart-budget.ts";
import { Cron } from "croner";

export type DueRestart = Readonly<{
  /** `unverified`: the node was restarted, and only the verification is outstanding. */
  cause: (typeof restartCauses)[number];
  reason: string;
  firstReason?: string;
  /** Urgent restarts don't wait for a maintenance window. */
  urgent: boolean;
  /** Whether the budget was already charged for this restart, or doesn't apply to it. */
  isCharged?: boolean;
}>;

export type RestartSituation = Readonly<{
  due: DueRestart | undefined;
  authority: Permissions;
  held: boolean;
  running: boolean;
  stage?: string | undefined;
  startingUntilMs?: number | undefined;
  canRestart: boolean;
  driverProblem?: string | undefined;
  /** The command that starts the node's container, if that is stopped. */
  stoppedStart?: string | undefined;
  isUnusable: boolean;
  /** Whether a restart would be persisted, so that it is charged to the budget and is finished after a crash. */
  isKept: boolean;
  settledForMs: number;
  settleMs: number;
  /** `untilMs`: wall clock; undefined if the writer is the node's start script. `resume`: the command that ends it sooner. */
  contested?: Readonly<{ untilMs: number | undefined; resume: string }> | undefined;
  /** The command that restarts the node even if the budget is used up. */
  restart: string;
  wallMs: number;
}>;

export type RestartDecision = Readonly<
  { go: true; due: DueRestart } | { go: false; reason: RestartWait; message: string; wakeInMs?: number }
>;

type RestartWait = ReasonOf<"NoRestartPending", "True" | "False">;

type ReadableBudget = Pick<RestartBudget, "used" | "allows" | "findNext">;

const checkAgainMs = 60_000;

/** Decides whether to restart now. Pure except that it reads the budget and the window. */
export function decideRestart(
  situation: RestartSituation,
  { budget, window }: Readonly<{ budget: ReadableBudget; window: MaintenanceWindow }>,
): RestartDecision {
  const { due, driverProblem, wallMs } = situation;
  if (situation.running)
    return wait("Running", ["The node is being restarted.", situation.stage].filter(Boolean).join(" "));
  if (due === undefined) {
    const driverProblemNow = situation.authority === "acts" ? driverProblem : undefined;
    if (driverProblemNow !== undefined)
      return wait("ProgramMissing", `The node can't be restarted: ${driverProblemNow}.`);
    const { stoppedStart } = situation;
    if (stoppedStart !== undefined)
      return wait("NodeStopped", `The node's container is stopped; run \`${stoppedStart}\` to start it.`);
    return wait("NoRestart", describeIdle(situation.startingUntilMs));
  }
  const why = `A restart is pending (${due.reason})`;
  if (situation.authority === "observes") {
    return wait("Observing", `${why}; upkeep.mode is observe, so restart it manually.`);
  }
  if (situation.authority === "waits")
    return wait("WaitingForApproval", `${why}; it is waiting for your approval (see NotPaused).`);
  if (!situation.canRestart) return wait("NoDriver", `${why}; restart.driver is none, so restart it manually.`);
  if (driverProblem !== undefined) return wait("ProgramMissing", `${why}; it waits, because ${driverProblem}.`);
  if (due.cause === "unverified") return { go: true, due };
  if (!situation.isKept && due.cause !== "interrupted") {
    return wait("StateNotWritable", `${why}; it waits until the sidecar can store its state (see Reconciling).`);
  }
  // A pause blocks a new restart, but not the completion of a restart that left the node down.
  if (situation.held && due.cause !== "interrupted")
    return wait("Paused", `${why}; Gatehouse is paused (see NotPaused).`);
  if (situation.isUnusable) {
    const message = `${why}; the node can't start with the current node.conf. Fix that first (see ConfigReconciled).`;
    return wait("ConfigUnusable", message);
  }
  if (situation.contested !== undefined && due.cause === "configuration") {
    return waitWhileContested(situation.contested, why);
  }
  const unsettledMs = situation.settleMs - situation.settledForMs;
  if (unsettledMs > 0) {
    const startText = new Date(wallMs + unsettledMs).toISOString();
    const message = `${why}; it starts at ${startText} unless node.conf changes again.`;
    return wait("Settling", message, unsettledMs);
  }
  if (!due.urgent && !window.isOpen(wallMs)) {
    const opensAtMs = window.opensAtMs(wallMs);
    // A cron expression that contains a year may have no windows left.
    const when = Number.isFinite(opensAtMs) ? `at ${new Date(opensAtMs).toISOString()}` : "but none is left";
    return wait(
      "WaitingForWindow",
      `${why}; it waits for the maintenance window ${when}.`,
      Math.min(checkAgainMs, opensAtMs - wallMs),
    );
  }
  if (due.isCharged !== true && !budget.allows("ordinary")) return waitForBudget(situation, why, budget);
  return { go: true, due };
}

function waitWhileContested(
  { untilMs, resume }: NonNullable<RestartSituation["contested"]>,
  why: string,
): RestartDecision {
  if (untilMs === undefined) {
    const revertWarning = `${why}; the node's start script would overwrite node.conf again. Fix that before restarting the node (see ConfigReconciled).`;
    return wait("StartRewrites", revertWarning);
  }
  const message =
    `${why}; another program keeps writing node.conf, so it waits until ${new Date(untilMs).toISOString()} or until you run \`${resume}\`. ` +
    "Find and stop that program first (see ConfigReconciled).";
  return wait("Contested", message, checkAgainMs / 10);
}

function waitForBudget({ restart }: RestartSituation, why: string, budget: ReadableBudget): RestartDecision {
  const next = budget.findNext("ordinary");
  if (next === undefined) {
    return wait("BudgetExhausted", `${why}; restart.budgetPerHour allows none, so run \`${restart}\`.`);
  }
  const used = budget.used() === 1 ? "was 1 restart" : `were ${budget.used()} restarts`;
  const reserve = next.isLastReserved ? " and the last of restart.budgetPerHour is reserved for a rollback" : "";
  const message =
    `${why}; it starts at ${next.at}, because there ${used} in the last hour${reserve}. ` +
    `Check the events for their causes; to restart now, run \`${restart}\`.`;
  return wait("BudgetExhausted", message, Math.min(checkAgainMs, next.waitMs));
}

function describeIdle(startingUntilMs: number | undefined): string {
  if (startingUntilMs === undefined) return "No restart is pending.";
  const untilText = new Date(startingUntilMs).toISOString();
  return `No restart is pending: the node has not responded since it started and has until ${untilText} (restart.answersWithinMs).`;
}

function wait(reason: RestartWait, message: string, wakeInMs?: number): RestartDecision {
  return wakeInMs === undefined ? { go: false, reason, message } : { go: false, reason, message, wakeInMs };
}

export type MaintenanceWindow = Readonly<{
  isOpen: (wallMs: number) => boolean;
  opensAtMs: (wallMs: number) => number;
}>;

type MaintenanceOptions = Readonly<{
  maintenanceCron?: string | undefined;
  maintenanceMs: number;
  maintenanceTimeZone: string;
}>;

/** Creates the windows for a cron expression, which the settings' schema has validated. Without an expression, the window is always open. */
export function createMaintenanceWindow(options: MaintenanceOptions): MaintenanceWindow {
  const { maintenanceCron: expression, maintenanceMs, maintenanceTimeZone: timezone } = options;
  if (expression === undefined) return { isOpen: () => true, opensAtMs: (wallMs) => wallMs };
  const cron = new Cron(expression, { paused: true, timezone });
  return {
    isOpen: (wallMs) => {
      // `previousRuns` excludes the reference time itself, so one second is added to include the first instant of the window.
      const last = cron.previousRuns(1, new Date(wallMs + 1_000))[0];
      return last !== undefined && wallMs - last.getTime() < maintenanceMs && last.getTime() <= wallMs;
    },
    opensAtMs: (wallMs) => cron.nextRun(new Date(wallMs))?.getTime() ?? Number.POSITIVE_INFINITY,
  };
}
