import { join } from "node:path";
import type { ConditionReport } from "#status/condition.ts";
import type { RestartObservation, RollBackFinding } from "./restart-observation.ts";

/** Settings used in the messages. */
export type RestartText = Readonly<{ /** `restart.driver`. */ driver: string }>;

/** Derives the conditions about restarts: whether one is due, and whether a node.conf is retained for a rollback. Pure. */
export function deriveRestartConditions(
  { settled, rollBack }: RestartObservation,
  words: RestartText,
): readonly ConditionReport[] {
  return [
    ...(rollBack === undefined ? [] : [deriveRollBackReady(rollBack)]),
    ...(settled === undefined ? [] : [deriveRestartSettled(settled, words)]),
  ];
}

function deriveRestartSettled(
  settled: NonNullable<RestartObservation["settled"]>,
  { driver }: RestartText,
): ConditionReport<"NoRestartPending"> {
  const type = "NoRestartPending";
  const byHand = driver === "ops" ? "`ops stop --force`, then `ops start`" : "with its own tool";
  if ("unjudgedEdit" in settled) {
    const message =
      `node.conf was changed, but whether the node can start with it is unknown: ${settled.unjudgedEdit} The node keeps running with the version it loaded ` +
      `and is restarted once this can be checked; if you know that it starts, restart it manually (${byHand}).`;
    return { type, status: "False", reason: "EditNotChecked", message };
  }
  if ("refusedEdit" in settled) {
    const message =
      `node.conf was changed, and the node would not start with it: ${settled.refusedEdit} The node keeps running with the version it loaded. ` +
      `Correct node.conf; to use it anyway, restart the node manually (${byHand}).`;
    return { type, status: "False", reason: "EditRejected", message };
  }
  if (settled.go) {
    return { type, status: "False", reason: "Running", message: `Restarting the node: ${settled.due.reason}.` };
  }
  const { reason, message } = settled;
  if (reason === "NoRestart") return { type, status: "True", reason, message };
  return { type, status: "False", reason, message };
}

function deriveRollBackReady(found: RollBackFinding): ConditionReport<"RollbackReady"> {
  const type = "RollbackReady";
  if (found.kind === "noRestarts") {
    const message = "The sidecar does not restart the node (restart.driver, upkeep.mode), so it never rolls back.";
    return { type, status: "Unknown", reason: "NoRestarts", message };
  }
  if (found.kind === "nothing") return deriveNothingKept(found.because);
  const { kind, directory } = found;
  const path = join(directory, "healthy.conf");
  if (kind === "notKept") {
    const message = `The running configuration can't be backed up to ${path}: a failed restart could not be rolled back to it. Make ${directory} writable, and free space there.`;
    return { type, status: "False", reason: "BackupFailed", message };
  }
  if (kind === "advanced") {
    const message = `A failed restart is rolled back to the verified configuration, ${path}.`;
    return { type, status: "True", reason: "Ready", message };
  }
  const message = `A failed restart is rolled back to ${path}, the node.conf from when the node last responded. It is unverified: it changed after the node's start, or the start time is unknown.`;
  return { type, status: "Unknown", reason: "Assumed", message };
}

function deriveNothingKept(
  because: Extract<RollBackFinding, { kind: "nothing" }>["because"],
): ConditionReport<"RollbackReady"> {
  const type = "RollbackReady";
  if (because === "notYet") {
    const message = "No rollback configuration yet: the node has not responded since the sidecar first checked it.";
    return { type, status: "Unknown", reason: "NotYet", message };
  }
  const why =
    because === "unread"
      ? "node.conf was changed long after the node loaded it, and the loaded version is unknown"
      : "No working node.conf is known for this node";
  const message = `${why}: a failed restart can't be rolled back. Restart the node manually with a working node.conf: it is stored as soon as the node responds.`;
  return { type, status: "False", reason: "NoBackup", message };
}
