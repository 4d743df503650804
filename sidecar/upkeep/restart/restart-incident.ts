import { matchesFingerprint, fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { isReplaceable, isUnusableByNode } from "#node/conf/problem.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { doneBySidecar } from "#status/event-log.ts";
import type { ConfigReading, UsableReading } from "../config/config-file.ts";
import { replaceConfig } from "../config/config-writer.ts";
import { saveHealthyConfig } from "../config/healthy-config.ts";
import {
  readInstanceId,
  type NodeDriver,
  DriverError,
  StartFailedError,
  type RestartReport,
} from "../drivers/driver.ts";
import type { PauseBasis, RestartInFlight } from "../state/upkeep-state.ts";
import { prepareCheckExcluding } from "./process-watch.ts";
import type { RestartContext } from "./restart-context.ts";
import type { DueRestart } from "./restart-decision.ts";
import { type Verification, restartAndVerify, waitForResponse, type Restart } from "./restart-verification.ts";
import { failedStartsMax } from "../state/data-evidence.ts";

/** A restart, from its command to its verification. `desired`: the desired state to store in a pause. */
export type RestartIncident = RestartContext & Readonly<{ driver: NodeDriver; due: DueRestart; desired: PauseBasis }>;

/** Outcome of an attempt. `startedWith` is absent if node.conf changed during the restart, because it is then unknown which content the node read. */
type RestartAttempt = Readonly<{ verified: Verification; startedWith?: UsableReading | undefined }>;

/**
 * Restarts the node and verifies it; returns the failure. Each step is recorded on disk first, so that a killed sidecar's successor
 * continues there. If another writer leaves node.conf half written in the meantime, restores it and starts the node with it.
 */
export async function runRestart(incident: RestartIncident): Promise<Readonly<{ failure?: string }>> {
  const { state, events, place, due, signal } = incident;
  const isAlreadyCommanded = due.cause === "unverified";
  // The disk may just have filled up: a restart that can't be persisted isn't started.
  if (!isAlreadyCommanded && due.cause !== "interrupted" && !state.store.isWritable()) return {};
  const readingBefore = await place.read();
  // The file has changed since the iteration that found the restart due; the next iteration judges it.
  const reason = readingBefore.ok ? undefined : readingBefore.problem.reason;
  const mayNotStart = reason !== undefined && (reason === "Unresponsive" || isUnusableByNode(reason));
  if (!isAlreadyCommanded && mayNotStart) return {};
  let tried = isAlreadyCommanded
    ? await verifyEarlierRestart(incident, readingBefore)
    : await attemptRestart(incident, readingBefore, "ordinary");
  if (signal.aborted) return {};
  if (!tried.verified.ok && readingBefore.ok && (await restoreConfig(incident, readingBefore))) {
    tried = await attemptRestart(incident, readingBefore, "roll-back");
    if (signal.aborted) return {};
  }
  const { verified: verification, startedWith } = tried;
  if (!verification.ok) {
    events.fail("restart", "The node was not restarted.", verification.message, { by: "sidecar" });
    return { failure: verification.message };
  }
  // The verification is done: an unwritable state directory must not cause it to be repeated forever.
  state.atomically(() => {
    state.restartInFlight.set(undefined);
    if (startedWith !== undefined) {
      state.nodeValues.set(readNodeValues(startedWith.document, place.layout().pathsDirectory));
      state.startedWith.set(fingerprintConfig(startedWith.document));
    }
    const message = `The node recovered and advances after ${Math.round(verification.tookMs)} ms.`;
    events.add("restart", message, undefined, doneBySidecar);
  });
  if (startedWith !== undefined) await recordVerified(startedWith.bytes, incident);
  return {};
}

async function recordVerified(bytes: Uint8Array, incident: RestartIncident): Promise<void> {
  const isKept = await saveHealthyConfig(bytes, "advanced", incident);
  incident.restarts.note({ kept: undefined });
  if (isKept) return;
  const message =
    "The healthy configuration could not be stored: a rollback would restore an older one. Make upkeep.stateDirectory writable.";
  incident.events.add("restart", message, undefined, { by: "sidecar", outcome: "failure" });
}

/** Restores the node.conf of this restart if another writer has made it unusable since; returns whether it did. */
async function restoreConfig(incident: RestartIncident, readingBefore: UsableReading): Promise<boolean> {
  const now = await incident.place.read();
  if (now.ok || !isReplaceable(now.problem.reason)) return false;
  const message = "node.conf became invalid during the restart: the intended version is restored.";
  const writeResult = await replaceConfig(now, readingBefore.bytes, [{ message, why: now.problem.message }], incident);
  return writeResult.ok;
}

export async function attemptRestart(
  incident: RestartIncident,
  readingBefore: ConfigReading,
  purpose: "ordinary" | "roll-back",
): Promise<RestartAttempt> {
  const { state, budget, events, driver, due, place, signal } = incident;
  const incarnation = await readInstanceId(driver, signal);
  state.atomically(() => {
    budget.record(purpose === "ordinary" ? due.reason : purpose);
    recordPhase(incident, { phase: "commanded", incarnation });
    state.retry.set(undefined);
    state.requestedRestart.set(undefined);
    state.startedWith.set(undefined);
    state.nodeHas.set(readingBefore.ok ? fingerprintConfig(readingBefore.document) : "unknown");
    if (purpose === "ordinary") {
      const begun = { by: "sidecar", outcome: "unknown" } as const;
      events.add("restart", `Restarting the node (${driver.name}): ${due.reason}.`, undefined, begun);
    } else events.begin("restart", `Restarting the node (${driver.name}) to roll back.`, undefined, { by: "sidecar" });
  });
  let startedWith: UsableReading | undefined;
  const command = async () => {
    const pidsBefore = (await driver.processes?.()) ?? [];
    const report = await restartNode(driver, incident);
    const pids = (await driver.processes?.()) ?? [];
    const bystanders = pids.filter((pid) => pidsBefore.includes(pid));
    const after = await place.read();
    if (readingBefore.ok && readingBefore.contentHash === after.contentHash) startedWith = readingBefore;
    state.atomically(() => {
      const seen = bystanders.length < pids.length ? { bystanders } : {};
      recordPhase(incident, { phase: "verifying", ...seen });
      // The node may have read intermediate content that has since been corrected.
      if (state.nodeHas.get() === "unknown") startedWith = undefined;
      if (startedWith === undefined) state.nodeHas.set("unknown");
    });
    return report;
  };
  const verification = await verifyRestart({ command }, incident);
  budget.end();
  return { verified: verification, startedWith };
}

async function verifyEarlierRestart(incident: RestartIncident, readingBefore: ConfigReading): Promise<RestartAttempt> {
  const { state, driver } = incident;
  const checkProcess = prepareCheckExcluding(state.restartInFlight.get()?.bystanders, driver);
  const verification = await verifyRestart(
    { command: async () => ({}), isAlreadyCommanded: true, checkProcess },
    incident,
  );
  const nodeHas = state.nodeHas.get();
  const isUnchanged =
    readingBefore.ok && nodeHas !== undefined && matchesFingerprint(nodeHas, readingBefore.document, undefined);
  return { verified: verification, startedWith: isUnchanged ? readingBefore : undefined };
}

function recordPhase(
  { due, state, clock }: RestartIncident,
  phase: Pick<RestartInFlight, "phase" | "bystanders" | "incarnation">,
): void {
  const ran = state.restartInFlight.get()?.ran ?? state.startedWith.get();
  const isFinishing = due.cause === "interrupted";
  state.restartInFlight.set({ reason: due.reason, beganMs: clock.wallMs(), isFinishing, ran, ...phase });
}

/** Restarts the node and verifies its recovery; any error counts as a failed start. Records each start with its outcome. */
export async function verifyRestart(restart: Restart, context: RestartContext): Promise<Verification> {
  const verified = await restartOrExplain(restart, context);
  if (!context.signal.aborted) recordStart(verified, context);
  return verified;
}

async function restartOrExplain(restart: Restart, context: RestartContext): Promise<Verification> {
  try {
    return await restartAndVerify(restart, context);
  } catch (error) {
    const { message } = error as Error;
    // Whatever the error, the node was told to stop, so the restart is rolled back like any failed start.
    if (!(error instanceof DriverError)) {
      context.log.error({ event: "restart-failed", err: error }, "the restart of the node failed");
      return { ok: false, message };
    }
    return { ok: false, message, hasEnded: isOwnStatus(error.startStatus) };
  }
}

/** First exit status that means that the program was not found, could not be run, or was killed by a signal (POSIX, "Exit Status for Commands"). */
const shellStatusMin = 126;

/** Whether a failed start command exited on its own, which means that its wait for the node to start timed out. */
function isOwnStatus(status = 0): boolean {
  return status > 0 && status < shellStatusMin;
}

/** If an operator starts the node right after the stop, the start command fails; that process read the same file, and is verified instead. */
async function restartNode(driver: NodeDriver, context: RestartContext): Promise<RestartReport> {
  // The command isn't killed when the sidecar stops, because a stopped node would stay down. The command has its own time limit.
  const signal = new AbortController().signal;
  try {
    return await driver.restart(signal, context.signal);
  } catch (error) {
    if (!(error instanceof StartFailedError)) throw error;
    if (!(await waitForResponse(signal, context))) throw error;
    const message = `The sidecar could not start the node, but another program or user did. ${error.message}`;
    context.events.add("restart", message, undefined, { by: "somebody else", outcome: "success" });
    return {};
  }
}

/** Stores a start after which the process exited: several in a row may indicate corrupt data. A successful start resets them. */
export function recordStart(
  verified: Verification,
  { state: { dataEvidence }, clock }: Pick<RestartContext, "state" | "clock">,
): void {
  const known = dataEvidence.get() ?? { failedStarts: [] };
  if (verified.ok) return dataEvidence.set({ ...known, failedStarts: [] });
  const { message, hasEnded } = verified;
  if (hasEnded !== true || hasRunNothing(message)) return;
  const failedStarts = [...known.failedStarts, { atMs: clock.wallMs(), message }].slice(-failedStartsMax);
  dataEvidence.set({ ...known, failedStarts });
}

/** Messages from systems, shells and programs that couldn't run another program (execve(2); POSIX, "Exit Status for Commands"). */
const notRun =
  /fork\/exec |exec format error|command not found|: not found|executable file not found|cannot execute|status 12[67]\b/i;

/** Whether a failed start reports that it couldn't run a program. Such a start says nothing about the data, whatever its exit status. */
function hasRunNothing(message: string): boolean {
  return notRun.test(message);
}
