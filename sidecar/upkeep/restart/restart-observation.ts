import type { Observation } from "#health/observation.ts";
import type { HealthEvidence } from "../state/upkeep-state.ts";
import type { NodeStarted, NodeStart } from "../drivers/driver.ts";
import type { RestartDecision } from "./restart-decision.ts";
import { join } from "node:path";
import type { ConditionReport } from "#status/condition.ts";

/** Configuration retained for a rollback. `failedUntilMs` (monotonic): saving it failed, and is retried at that time. */
export type StoredConfig = Readonly<{ hash?: string; proof?: HealthEvidence; failedUntilMs?: number }>;

/** Whether there is a node.conf to roll back to; for `nothing`, `because` is the reason. */
export type RollBackFinding = Readonly<
  | { kind: "noRestarts" }
  | { kind: "notKept" | "advanced" | "assumed"; directory: string }
  | { kind: "nothing"; because: "notYet" | "unread" | "unknown" }
>;

export type RestartState = Readonly<{
  running?: Promise<void> | undefined;
  stage?: string | undefined;
  /** Last decision, or the reason why a changed node.conf doesn't cause a restart or can't be judged. Absent before the first iteration. */
  settled?: RestartDecision | Readonly<{ rejectedEdit: string }> | Readonly<{ uncheckedEdit: string }> | undefined;
  hold?: "none" | Readonly<{ message: string }> | undefined;
  /** Reloaded when absent. */
  kept?: StoredConfig | undefined;
  advancing?: Readonly<{ contentHash: string; height: number | undefined }> | undefined;
  rollBack?: RollBackFinding | undefined;
}>;

export type ObservedRestarts = Observation<RestartState>;

type RequestedStart = Readonly<{
  contentHash: string;
  startedAfterMs: number | undefined;
  atMs: number;
  nodeStarted?: NodeStarted;
}>;

export type UnresponsivePeriod = Readonly<{
  /** Time at which the RPC stopped responding (`HealthWatch.ranMs`). */
  sinceMs: number;
  /** Whether the node's port has been seen closed since then, which means that the current process isn't the one that responded before. */
  portWasClosed: boolean;
}>;

export type UnhealthyPeriod = Readonly<{
  /** Start of this state (`HealthWatch.ranMs`); for a node that is catching up, when it last got closer to its references. */
  sinceMs: number;
  /** Min number of blocks by which the node has been behind since then; Infinity if it wasn't compared. */
  nearestBlocks: number;
}>;

export type ProcessState = Readonly<{
  requestedStart?: RequestedStart | undefined;
  started?: Promise<NodeStart> | undefined;
  /** Period for which the node's RPC has not responded; undefined if it responds or can't be queried. */
  unresponsive?: UnresponsivePeriod | undefined;
  /** Whether the process was visible while the node responded, so that it has exited if it is no longer visible. */
  wasSeen: boolean;
  hasEnded: boolean;
  /** Time (wall clock) since which a node that responds has had no visible process. */
  missedAtMs?: number | undefined;
  /** Time until which an unresponsive node may still be starting (wall clock). */
  startingUntilMs?: number | undefined;
  unhealthy?: UnhealthyPeriod | undefined;
}>;

export type ObservedProcess = Observation<ProcessState>;

/** Whether the node started long before the content existed, so that what it runs with is unknown. */
export function isUnread({ requestedStart }: ProcessState, contentHash: string | undefined): boolean {
  return requestedStart?.nodeStarted === "before" && requestedStart.contentHash === contentHash;
}

/** `restartCommand`: the command that restarts the node, with the `ops` driver. */
export type RestartText = Readonly<{ restartCommand: () => string | undefined }>;

export function deriveRestartConditions(
  { settled, rollBack }: RestartState,
  texts: RestartText,
): readonly ConditionReport[] {
  return [
    ...(rollBack === undefined ? [] : [deriveRollBackReady(rollBack)]),
    ...(settled === undefined ? [] : [deriveRestartSettled(settled, texts)]),
  ];
}

function deriveRestartSettled(
  settled: NonNullable<RestartState["settled"]>,
  { restartCommand }: RestartText,
): ConditionReport<"NoRestartPending"> {
  const type = "NoRestartPending";
  const describeByHand = () => {
    const command = restartCommand();
    return command === undefined ? "with its own tool" : `\`${command}\``;
  };
  if ("uncheckedEdit" in settled) {
    const message =
      `node.conf was changed, but whether the node can start with it is unknown: ${settled.uncheckedEdit} The node keeps running with the version it loaded ` +
      `and is restarted once this can be checked; if you know that it starts, restart it manually (${describeByHand()}).`;
    return { type, status: "False", reason: "EditNotChecked", message };
  }
  if ("rejectedEdit" in settled) {
    const message =
      `node.conf was changed, and the node may not start with it: ${settled.rejectedEdit} The node keeps running with the version it loaded. ` +
      `Correct node.conf; to use it anyway, restart the node manually (${describeByHand()}).`;
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
  if (found.kind === "nothing") return deriveMissingConfig(found.because);
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

function deriveMissingConfig(
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
