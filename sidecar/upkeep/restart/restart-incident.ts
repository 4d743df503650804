import { hasSameMeaning, deriveMeaning } from "#node/conf/meaning.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { readInstanceId, type NodeDriver } from "../drivers/driver.ts";
import type { ConfigReading } from "../config/config-file.ts";
import { isReplaceable, isUselessToNode, type ConfigProblemReason } from "#node/conf/problem.ts";
import { writeWithDeadline } from "../config/with-deadline.ts";
import type { CommandText } from "../command-text.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { prepareCheckExcept } from "./process-watch.ts";
import { verifyRestart, readConfig, restartNode, type VerifyRestartDependencies } from "./verify-restart.ts";
import type { Verification } from "./restart-verification.ts";
import type { RestartBudget } from "./restart-budget.ts";
import type { HeldState, RestartInFlight, UpkeepState } from "../state/upkeep-state.ts";
import type { ConfigVersions } from "../config/config-versions.ts";
import type { WriterLock } from "../config/writer-lock.ts";

/** Restart, from its command to its verification. */
export type RestartIncident = Readonly<{
  reason: string;
  /** Reason for the first attempt, if this is a retry. */
  firstReason: string;
  /** Whether an earlier sidecar already ran the restart command, so that only the verification is left. */
  isAlreadyCommanded: boolean;
  /** Whether an earlier sidecar started it and may have left the node down. */
  isFinishing: boolean;
  /** Desired state to store in a pause. */
  desired: HeldState;
  configPath: string;
  pathsDirectory: string;
  configLimitBytes: number;
  answersWithinMs: number;
  healthyWithinMs: number;
  metricsWithinMs: number;
  signal: AbortSignal;
}>;

export type RestartIncidentDependencies = VerifyRestartDependencies &
  Readonly<{
    driver: NodeDriver;
    state: UpkeepState;
    budget: RestartBudget;
    versions: ConfigVersions;
    lock: WriterLock;
    events: EventLog;
    clock: Clock;
    command: CommandText;
    log: Logger;
    /** Retains the node.conf with which the node was verified to start. */
    rememberHealthy: (bytes: Uint8Array) => Promise<void>;
  }>;

type UsableReading = Extract<ConfigReading, { ok: true }>;

/** Outcome of an attempt. `startedWith` is absent if node.conf changed during the restart, because it is then unknown which content the node read. */
export type RestartAttempt = Readonly<{ verified: Verification; startedWith?: UsableReading | undefined }>;

/**
 * Restarts the node and verifies its recovery; returns the failure if it doesn't recover. Every step is recorded on disk before it is
 * taken, so that a sidecar killed at any point continues where it left off. If another writer leaves node.conf half written in the
 * meantime, node.conf is restored, and the node is started with it.
 */
export async function runRestart(
  incident: RestartIncident,
  dependencies: RestartIncidentDependencies,
): Promise<Readonly<{ failure?: string }>> {
  const { state, events } = dependencies;
  // The disk may just have filled up: a restart that can't be persisted isn't started.
  if (!incident.isAlreadyCommanded && !incident.isFinishing && !state.store.isWritable()) return {};
  const before = await readConfig(incident, dependencies);
  // The file has changed since the iteration that found the restart due; the next iteration judges it.
  if (!incident.isAlreadyCommanded && !before.ok && mayNotStart(before.problem.reason)) return {};
  let tried = incident.isAlreadyCommanded
    ? await verifyEarlierRestart(incident, before, dependencies)
    : await attemptRestart(incident, before, { purpose: "ordinary" }, dependencies);
  if (incident.signal.aborted) return {};
  if (!tried.verified.ok && before.ok && (await putBack(incident, before, dependencies))) {
    tried = await attemptRestart(incident, before, { purpose: "roll-back" }, dependencies);
    if (incident.signal.aborted) return {};
  }
  const { verified, startedWith } = tried;
  if (!verified.ok) {
    events.fail("restart", "The node was not restarted.", verified.message, { by: "sidecar" });
    return { failure: verified.message };
  }
  // The verification is done: a state directory that can't be written must not cause it to be repeated forever.
  state.atomically(() => {
    state.restartInFlight.set(undefined);
    if (startedWith !== undefined) recordStartedWith(startedWith, incident, dependencies);
    const message = `The node recovered and advances after ${Math.round(verified.tookMs)} ms.`;
    events.add("restart", message, undefined, doneBySidecar);
  });
  if (startedWith !== undefined) await dependencies.rememberHealthy(startedWith.bytes);
  return {};
}

function recordStartedWith(
  { document }: UsableReading,
  { pathsDirectory }: RestartIncident,
  { state }: RestartIncidentDependencies,
): void {
  state.nodeValues.set(readNodeValues(document, pathsDirectory));
  state.startedWith.set(deriveMeaning(document));
}

function mayNotStart(reason: ConfigProblemReason): boolean {
  return reason === "Unresponsive" || isUselessToNode(reason);
}

/**
 * Restores the node.conf with which the node was to be started, if another writer has since made it unusable, e.g. because that writer was
 * killed while writing. Returns whether node.conf was restored.
 */
async function putBack(
  incident: RestartIncident,
  before: UsableReading,
  dependencies: RestartIncidentDependencies,
): Promise<boolean> {
  const { configPath, configLimitBytes } = incident;
  const now = await readConfig(incident, dependencies);
  if (now.ok || !isReplaceable(now.problem.reason)) return false;
  const { contentHash: expectedHash, problem } = now;
  const message = "node.conf became invalid during the restart: the intended version is restored.";
  const written = await writeWithDeadline(
    {
      path: configPath,
      limitBytes: configLimitBytes,
      expectedHash,
      expectedProblem: problem.reason,
      content: before.bytes,
      changes: [{ message, why: problem.message }],
    },
    dependencies,
  );
  return written.ok;
}

/** Makes one restart, charged to the budget, and verifies it. */
export async function attemptRestart(
  incident: RestartIncident,
  before: ConfigReading,
  { purpose }: Readonly<{ purpose: "ordinary" | "roll-back" }>,
  dependencies: RestartIncidentDependencies,
): Promise<RestartAttempt> {
  const { state, budget, events, driver } = dependencies;
  const instanceId = await readInstanceId(driver, incident.signal);
  state.atomically(() => {
    budget.record(purpose === "ordinary" ? incident.reason : purpose);
    recordPhase({ phase: "commanded", instanceId }, incident, dependencies);
    state.retry.set(undefined);
    state.requestedRestart.set(undefined);
    state.startedWith.set(undefined);
    state.nodeHas.set(before.ok ? deriveMeaning(before.document) : "unknown");
    if (purpose === "ordinary") {
      const begun = { by: "sidecar", outcome: "unknown" } as const;
      events.add("restart", `Restarting the node (${driver.name}): ${incident.reason}.`, undefined, begun);
    } else events.begin("restart", `Restarting the node (${driver.name}) to roll back.`, undefined, { by: "sidecar" });
  });
  let startedWith: UsableReading | undefined;
  const restart = async () => {
    const pidsBefore = (await driver.processes?.()) ?? [];
    const report = await restartNode(incident, dependencies);
    const pids = (await driver.processes?.()) ?? [];
    const bystanders = pids.filter((pid) => pidsBefore.includes(pid));
    const after = await readConfig(incident, dependencies);
    if (before.ok && before.contentHash === after.contentHash) startedWith = before;
    state.atomically(() => {
      const seen = bystanders.length < pids.length ? { bystanders } : {};
      recordPhase({ phase: "verifying", ...seen }, incident, dependencies);
      // The node may have read intermediate content that has since been corrected.
      if (state.nodeHas.get() === "unknown") startedWith = undefined;
      if (startedWith === undefined) state.nodeHas.set("unknown");
    });
    return report;
  };
  const verified = await verifyRestart(restart, { ...incident, isAlreadyCommanded: false }, dependencies);
  budget.end();
  return { verified, startedWith };
}

/** Verifies a restart that an earlier sidecar commanded. */
async function verifyEarlierRestart(
  incident: RestartIncident,
  before: ConfigReading,
  dependencies: RestartIncidentDependencies,
): Promise<RestartAttempt> {
  const { state, driver } = dependencies;
  const check = prepareCheckExcept(state.restartInFlight.get()?.bystanders, driver);
  const beforeRestart = check === undefined ? dependencies.beforeRestart : () => Promise.resolve(check);
  const verified = await verifyRestart(() => Promise.resolve({}), incident, { ...dependencies, beforeRestart });
  const nodeHas = state.nodeHas.get();
  const isUnchanged = before.ok && nodeHas !== undefined && hasSameMeaning(nodeHas, before.document, undefined);
  return { verified, startedWith: isUnchanged ? before : undefined };
}

function recordPhase(
  {
    phase,
    instanceId,
    bystanders,
  }: Pick<RestartInFlight, "phase" | "bystanders"> & Readonly<{ instanceId?: string | undefined }>,
  { reason, isFinishing }: RestartIncident,
  { state, clock }: RestartIncidentDependencies,
): void {
  const ran = state.restartInFlight.get()?.ran ?? state.startedWith.get();
  state.restartInFlight.set({
    reason,
    beganMs: clock.wallMs(),
    phase,
    isFinishing,
    incarnation: instanceId,
    bystanders,
    ran,
  });
}
