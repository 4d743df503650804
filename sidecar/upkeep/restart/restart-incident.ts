import { hasSameMeaning, deriveMeaning } from "#node/conf/meaning.ts";
import { isReplaceable, isUnusableByNode, type ConfigProblemReason } from "#node/conf/problem.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { doneBySidecar } from "#status/event-log.ts";
import type { ConfigReading, UsableReading } from "../config/config-file.ts";
import { saveHealthyConfig } from "../config/healthy-config.ts";
import { replaceConfig } from "../config/with-deadline.ts";
import type { WriterLock } from "../config/writer-lock.ts";
import { readInstanceId, type NodeDriver } from "../drivers/driver.ts";
import type { PauseBasis, RestartInFlight } from "../state/upkeep-state.ts";
import { prepareCheckExcept } from "./process-watch.ts";
import type { RestartContext } from "./restart-context.ts";
import type { Verification } from "./restart-verification.ts";
import {
  verifyRestart,
  readConfig,
  restartNode,
  type RestartToVerify,
  type VerifyRestartDependencies,
} from "./verify-restart.ts";

/** Restart, from its command to its verification, and what it needs. */
export type RestartIncident = RestartContext &
  RestartToVerify &
  VerifyRestartDependencies &
  Readonly<{
    driver: NodeDriver;
    reason: string;
    /** Reason for the first attempt, if this is a retry. */
    firstReason: string;
    /** Whether an earlier sidecar started it and may have left the node down. */
    isFinishing: boolean;
    /** Desired state to store in a pause. */
    desired: PauseBasis;
    pathsDirectory: string;
    lock: WriterLock;
  }>;

/** Outcome of an attempt. `startedWith` is absent if node.conf changed during the restart, because it is then unknown which content the node read. */
export type RestartAttempt = Readonly<{ verified: Verification; startedWith?: UsableReading | undefined }>;

/**
 * Restarts the node and verifies its recovery; returns the failure if it doesn't recover. Every step is recorded on disk before it is
 * taken, so that a sidecar killed at any point continues where it left off. If another writer leaves node.conf half written in the
 * meantime, node.conf is restored, and the node is started with it.
 */
export async function runRestart(incident: RestartIncident): Promise<Readonly<{ failure?: string }>> {
  const { state, events } = incident;
  // The disk may just have filled up: a restart that can't be persisted isn't started.
  if (!incident.isAlreadyCommanded && !incident.isFinishing && !state.store.isWritable()) return {};
  const before = await readConfig(incident);
  // The file has changed since the iteration that found the restart due; the next iteration judges it.
  if (!incident.isAlreadyCommanded && !before.ok && mayNotStart(before.problem.reason)) return {};
  let tried = incident.isAlreadyCommanded
    ? await verifyEarlierRestart(incident, before)
    : await attemptRestart(incident, before, "ordinary");
  if (incident.signal.aborted) return {};
  if (!tried.verified.ok && before.ok && (await putBack(incident, before))) {
    tried = await attemptRestart(incident, before, "roll-back");
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
    if (startedWith !== undefined) {
      state.nodeValues.set(readNodeValues(startedWith.document, incident.pathsDirectory));
      state.startedWith.set(deriveMeaning(startedWith.document));
    }
    const message = `The node recovered and advances after ${Math.round(verified.tookMs)} ms.`;
    events.add("restart", message, undefined, doneBySidecar);
  });
  if (startedWith !== undefined) await rememberVerified(startedWith.bytes, incident);
  return {};
}

/** Retains the node.conf with which the restart was verified. */
async function rememberVerified(bytes: Uint8Array, incident: RestartIncident): Promise<void> {
  const isKept = await saveHealthyConfig(bytes, "advanced", incident);
  incident.restarts.note({ kept: undefined });
  if (isKept) return;
  const message =
    "The healthy configuration could not be stored: a rollback would restore an older one. Make upkeep.stateDirectory writable.";
  incident.events.add("restart", message, undefined, { by: "sidecar", outcome: "failure" });
}

function mayNotStart(reason: ConfigProblemReason): boolean {
  return reason === "Unresponsive" || isUnusableByNode(reason);
}

/**
 * Restores the node.conf with which the node was to be started, if another writer has since made it unusable, e.g. because that writer was
 * killed while writing. Returns whether node.conf was restored.
 */
async function putBack(incident: RestartIncident, before: UsableReading): Promise<boolean> {
  const { configPath: path, configLimitBytes: limitBytes } = incident;
  const now = await readConfig(incident);
  if (now.ok || !isReplaceable(now.problem.reason)) return false;
  const message = "node.conf became invalid during the restart: the intended version is restored.";
  const changes = [{ message, why: now.problem.message }];
  const written = await replaceConfig(now, { path, limitBytes, content: before.bytes, changes }, incident);
  return written.ok;
}

/** Makes one restart, charged to the budget, and verifies it. */
export async function attemptRestart(
  incident: RestartIncident,
  before: ConfigReading,
  purpose: "ordinary" | "roll-back",
): Promise<RestartAttempt> {
  const { state, budget, events, driver } = incident;
  const incarnation = await readInstanceId(driver, incident.signal);
  state.atomically(() => {
    budget.record(purpose === "ordinary" ? incident.reason : purpose);
    recordPhase(incident, { phase: "commanded", incarnation });
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
    const report = await restartNode(incident);
    const pids = (await driver.processes?.()) ?? [];
    const bystanders = pids.filter((pid) => pidsBefore.includes(pid));
    const after = await readConfig(incident);
    if (before.ok && before.contentHash === after.contentHash) startedWith = before;
    state.atomically(() => {
      const seen = bystanders.length < pids.length ? { bystanders } : {};
      recordPhase(incident, { phase: "verifying", ...seen });
      // The node may have read intermediate content that has since been corrected.
      if (state.nodeHas.get() === "unknown") startedWith = undefined;
      if (startedWith === undefined) state.nodeHas.set("unknown");
    });
    return report;
  };
  const verified = await verifyRestart(restart, { ...incident, isAlreadyCommanded: false }, incident);
  budget.end();
  return { verified, startedWith };
}

/** Verifies a restart that an earlier sidecar commanded. */
async function verifyEarlierRestart(incident: RestartIncident, before: ConfigReading): Promise<RestartAttempt> {
  const { state, driver } = incident;
  const check = prepareCheckExcept(state.restartInFlight.get()?.bystanders, driver);
  const beforeRestart = check === undefined ? incident.beforeRestart : () => Promise.resolve(check);
  const verified = await verifyRestart(() => Promise.resolve({}), incident, { ...incident, beforeRestart });
  const nodeHas = state.nodeHas.get();
  const isUnchanged = before.ok && nodeHas !== undefined && hasSameMeaning(nodeHas, before.document, undefined);
  return { verified, startedWith: isUnchanged ? before : undefined };
}

function recordPhase(
  { reason, isFinishing, state, clock }: RestartIncident,
  phase: Pick<RestartInFlight, "phase" | "bystanders" | "incarnation">,
): void {
  const ran = state.restartInFlight.get()?.ran ?? state.startedWith.get();
  state.restartInFlight.set({ reason, beganMs: clock.wallMs(), isFinishing, ran, ...phase });
}
