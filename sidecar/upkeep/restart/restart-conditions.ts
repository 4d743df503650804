import { join } from "node:path";
import type { ConditionReport } from "#status/condition.ts";
import type { CommandText } from "../command-words.ts";
import type { RestartObservation, RollBackFinding } from "./restart-observation.ts";

/** Settings and commands used in the messages. */
export type RestartText = Readonly<{ command: CommandText; /** `restart.driver`. */ driver: string }>;

/** Derives the conditions about restarts: whether one is due, whether a pause is active, and whether a node.conf is retained for a rollback. Pure. */
export function deriveRestartConditions(
  { settled, hold, rollBack }: RestartObservation,
  words: RestartText,
): readonly ConditionReport[] {
  return [
    ...(hold === undefined ? [] : [deriveUnheld(hold, words)]),
    ...(rollBack === undefined ? [] : [deriveRollBackReady(rollBack)]),
    ...(settled === undefined ? [] : [deriveRestartSettled(settled, words)]),
  ];
}

function deriveUnheld(hold: NonNullable<RestartObservation["hold"]>, { command }: RestartText): ConditionReport {
  const type = "NotPaused";
  if (hold === "none") return { type, status: "True", reason: "NotPaused", message: "No hold is in force." };
  const message = `${hold.message} Change the desired state, or run \`${command("resume")}\` when the cause is fixed.`;
  return { type, status: "False", reason: "Paused", message };
}

function deriveRestartSettled(
  settled: NonNullable<RestartObservation["settled"]>,
  { driver }: RestartText,
): ConditionReport<"NoRestartPending"> {
  const type = "NoRestartPending";
  const byHand = driver === "ops" ? "`ops stop --force`, then `ops start`" : "by its own tool";
  if ("unjudgedEdit" in settled) {
    const message =
      `node.conf was changed, and whether the node would start with it can't be told: ${settled.unjudgedEdit} The node runs on with what it has read, ` +
      `and is restarted once that can be looked at; if you know that it starts, restart it by hand (${byHand}).`;
    return { type, status: "False", reason: "EditNotChecked", message };
  }
  if ("refusedEdit" in settled) {
    const message =
      `node.conf was changed, and the node would not start with it: ${settled.refusedEdit} The node runs on with what it has read. ` +
      `Correct node.conf; if you know better, restart the node by hand (${byHand}).`;
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
    const message = "The sidecar does not restart the node (restart.driver, upkeep.mode), so it never has to go back.";
    return { type, status: "Unknown", reason: "NoRestarts", message };
  }
  if (found.kind === "nothing") return deriveNothingKept(found.because);
  const { kind, directory } = found;
  const path = join(directory, "healthy.conf");
  if (kind === "notKept") {
    const message = `What the node runs with can't be kept in ${path}: a restart that fails could not be rolled back to it. Make ${directory} writable, and free some space there.`;
    return { type, status: "False", reason: "BackupFailed", message };
  }
  if (kind === "advanced") {
    const message = `A restart that fails is rolled back to what the node advanced with, ${path}.`;
    return { type, status: "True", reason: "Ready", message };
  }
  const message = `A restart that fails is rolled back to ${path}, which stood there while the node answered. Whether the node had started with it is not known: it changed after the node's start, or nothing shows when that was.`;
  return { type, status: "Unknown", reason: "Assumed", message };
}

function deriveNothingKept(
  because: Extract<RollBackFinding, { kind: "nothing" }>["because"],
): ConditionReport<"RollbackReady"> {
  const type = "RollbackReady";
  if (because === "notYet") {
    const message = "Nothing is kept to go back to yet: the node has not answered since the sidecar knows it.";
    return { type, status: "Unknown", reason: "NotYet", message };
  }
  const why =
    because === "unread"
      ? "node.conf was changed long after the node had started and read it, and nobody knows what stood there then"
      : "No node.conf is known with which this node runs";
  const message = `${why}: a restart that fails can't be rolled back. Restart the node by hand with one that works: it is kept as soon as the node responds.`;
  return { type, status: "False", reason: "NoBackup", message };
}
