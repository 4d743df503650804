import { waitUntil } from "#daemon/time.ts";
import { hashDesiredState, createDesiredState } from "../plan/desired-state.ts";
import type { RestartBudget } from "../restart/restart-budget.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { UpgradeError, type Stage } from "../../upgrade/progress.ts";
import { runUpgrade } from "../../upgrade/run-upgrade.ts";
import { createHostPlatform } from "./host-platform.ts";
import { explainBlockedUpgrade, explainStoreFailure, findUpgradeObstacles } from "./check-node.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import { retainRunningConfig } from "./config-for-version.ts";
import type { RequestedUpgrade } from "./requested-upgrade.ts";
import { canStopAndStart, type StopStartContext } from "./stop-and-start.ts";
import type { UpgradeContext } from "./upgrade-context.ts";
import { formatUpgrade } from "./upgrade-observation.ts";

/** Checks again, without awaiting before the record: another request, a restart or a pause may have come up in the meantime. */
export function beginUpgrade(
  { plan, record }: UpgradeCheck,
  digest: string | undefined,
  context: UpgradeContext,
): RequestedUpgrade {
  if (record === undefined) return { result: "rejected", plan };
  if (digest === undefined) return { result: "shown", plan };
  if (digest !== plan.digest) return { result: "another", plan };
  const problems = [...findUpgradeObstacles(context)];
  if (problems.length > 0) return { result: "rejected", plan: { ...plan, steps: [], problems } };
  context.state.upgrade.set(record);
  context.upgrade.note({ record, agreedMs: record.beganMs });
  context.wake();
  return { result: "begun", plan, beganMs: record.beganMs };
}

/**
 * Starts an approved upgrade, or continues one. It continues an upgrade that an earlier sidecar left unfinished, or one that was stranded
 * and rolls back again because its pause was lifted. The upgrade runs in parallel with later iterations, which treat it as a restart in
 * progress and change nothing until it ends.
 */
export function applyUpgrade(context: UpgradeContext): void {
  const { state, driver, log, wake, finishes, settings, restarts, process, upgrade } = context;
  const record = state.upgrade.get();
  if (record === undefined || restarts.now().running !== undefined) return;
  const blockReason = record.end === undefined ? explainBlockedUpgrade(context) : undefined;
  // Lifting a pause may have changed the record.
  upgrade.note({ record, blocked: blockReason });
  if (record.end !== undefined || blockReason !== undefined || !canStopAndStart(driver)) return;
  const runningUpgrade = advanceUpgrade(record, { ...context, driver })
    .catch((error: unknown) => {
      // A later iteration continues once the record can be stored.
      if (error instanceof UpgradeError) return log.error({ event: "upgrade-blocked" }, error.message);
      return log.error({ event: "upgrade-failed", err: error }, "the upgrade of the node failed");
    })
    .finally(() => {
      upgrade.note({ agreedMs: undefined });
      process.note({ unhealthy: undefined, unresponsive: undefined });
      restarts.note({ running: undefined, stage: undefined });
      wake();
    });
  restarts.note({ running: runningUpgrade, stage: formatUpgrade(record) });
  // The upgrade's stop and start commands aren't interrupted; a copy is aborted at once.
  finishes({ what: "the upgrade's step", done: runningUpgrade, withinMs: 2 * settings.restart.timeoutMs });
}

async function advanceUpgrade(startedUpgrade: UpgradeRecord, context: StopStartContext): Promise<void> {
  const { state, upgrade, events, log, signal, clock } = context;
  const isResumed = upgrade.now().agreedMs !== startedUpgrade.beganMs;
  const { from, to } = startedUpgrade;
  const attempt = { by: "gatehouse upgrade", outcome: "unknown", before: { version: from } } as const;
  const startVerb = isResumed ? "continues" : "starts";
  events.add("upgrade", `The upgrade from ${from} to ${to} ${startVerb}.`, undefined, attempt);
  const run = {
    ...context,
    platform: createHostPlatform(context),
    onStage: (now: UpgradeRecord) =>
      log.info({ event: "upgrade-stage", stage: now.stage, from, to }, formatUpgrade(now)),
    remember: async (now: UpgradeRecord) => {
      remember(now, context);
      if (now.end !== undefined) return;
      const isStored = () => state.store.failure() === undefined || state.store.isWritable();
      await waitUntil(isStored, Boolean, { ...storeWait, signal }, clock);
      const blockReason = explainStoreFailure(state.store);
      if (blockReason !== undefined) throw new UpgradeError(blockReason, "fatal");
    },
  };
  const { record } = await runUpgrade(startedUpgrade, { isResumed }, run);
  if (record.end !== undefined && record.end !== "stranded") await retainRunningConfig(context);
}

/** How long a step waits for its record: a backup, for example, locks the database for a moment. */
const storeWait = { everyMs: 250, withinMs: 2_000 } as const;

/** Stages that start the node. Each charges the restart budget once. */
const starts: ReadonlySet<Stage> = new Set(["proving", "back-proving", "back-restarting"]);

/** Charges the restart budget in the same write: after a kill, the step resumes without being charged again. */
export function storeRecord(
  record: UpgradeRecord,
  state: Pick<UpkeepState, "atomically" | "upgrade">,
  budget: Pick<RestartBudget, "record">,
): void {
  const isEntered = state.upgrade.get()?.stage !== record.stage;
  state.atomically(() => {
    if (isEntered && starts.has(record.stage)) budget.record(`upgrade to ${record.to}`);
    state.upgrade.set(record);
  });
}

/** Writes the progress, and an outcome together with its pause: a kill between two writes would leave a failed node without a pause. */
function remember(now: UpgradeRecord, context: UpgradeContext): void {
  const { state, budget, upgrade, restarts, events, metrics, wake } = context;
  const { end, failure, from, to } = now;
  const isNewFailure = failure !== undefined && state.upgrade.get()?.failure === undefined;
  const message = formatUpgrade(now);
  state.atomically(() => {
    storeRecord(now, state, budget);
    upgrade.note({ record: now });
    restarts.note({ stage: message });
    if (isNewFailure) {
      const sides = { before: { version: from }, after: { stage: now.stage } };
      const failureText = `The upgrade from ${from} to ${to} failed; rolling back.`;
      events.fail("upgrade", failureText, failure, { by: "sidecar", ...sides });
    }
    if (end !== undefined) finish(now, message, context);
  });
  wake();
  if (end !== undefined) metrics.upgraded(end);
}

function finish(
  { end, from, to }: UpgradeRecord,
  message: string,
  { state, settings, restarts, events, clock }: UpgradeContext,
): void {
  const isVerified = end === "committed";
  events.add("upgrade", message, undefined, {
    by: "sidecar",
    outcome: isVerified ? "success" : "failure",
    before: { version: from },
    after: isVerified ? { version: to } : { end },
  });
  // The evidence about the old data doesn't apply to the new data.
  if (isVerified) return state.dataEvidence.set(undefined);
  const failedUpgrade = end === "stranded" ? { failed: { reason: `the upgrade to ${to}`, isDown: true } } : {};
  // No release is stored, because a response from another version must not lift the pause. The current desired state is stored: if it has
  // changed, the initial one would lift the pause at once, and the upgrade would be retried forever.
  const hash = hashDesiredState(createDesiredState(settings, ""));
  state.hold.set({ desired: { hash }, message, sinceMs: clock.wallMs(), ...failedUpgrade });
  restarts.note({ hold: { message } });
}
