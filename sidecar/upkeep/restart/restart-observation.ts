import { createObservation, type Observation } from "#health/observation.ts";
import type { HealthEvidence } from "../state/upkeep-state.ts";
import type { NodeStarted, NodeStart } from "../drivers/driver.ts";
import type { RestartDecision } from "./restart-decision.ts";

/** Configuration retained for a rollback. `failedUntilMs` (monotonic): saving it failed, and is retried at that time. */
export type StoredConfig = Readonly<{ hash?: string; proof?: HealthEvidence; failedUntilMs?: number }>;

/** Whether there is a node.conf to roll back to; for `nothing`, `because` contains the reason. */
export type RollBackFinding = Readonly<
  | { kind: "noRestarts" }
  | { kind: "notKept" | "advanced" | "assumed"; directory: string }
  | { kind: "nothing"; because: "notYet" | "unread" | "unknown" }
>;

/** Last observed state of the node's restarts. */
export type RestartObservation = Readonly<{
  /** Restart in progress. `stage`: what the restart is waiting for, and the deadline. */
  running?: Promise<void> | undefined;
  stage?: string | undefined;
  /** Last decision, or the reason why a changed node.conf doesn't cause a restart or can't be judged. Absent before the first iteration. */
  settled?: RestartDecision | Readonly<{ refusedEdit: string }> | Readonly<{ unjudgedEdit: string }> | undefined;
  /** Pause that was active at the last check. */
  hold?: "none" | Readonly<{ message: string }> | undefined;
  /** Reloaded when absent. */
  kept?: StoredConfig | undefined;
  /** Active content, and the height at which it was first seen active. */
  advancing?: Readonly<{ contentHash: string; height: number | undefined }> | undefined;
  rollBack?: RollBackFinding | undefined;
}>;

export type ObservedRestarts = Observation<RestartObservation>;

/** Creates an empty observation of restarts. */
export function observeRestarts(onChange?: () => void): ObservedRestarts {
  return createObservation<RestartObservation>({}, onChange);
}

/** A query about whether the node started with a content, and the result. */
export type RequestedStart = Readonly<{
  contentHash: string;
  startedAfterMs: number | undefined;
  /** Time of the query (monotonic). */
  atMs: number;
  /** Absent until known. */
  began?: NodeStarted;
}>;

/** The node's RPC does not respond. */
export type UnresponsivePeriod = Readonly<{
  /** Time at which the RPC stopped responding (`HealthWatch.ranMs`). */
  sinceMs: number;
  /** Whether the node's port has been seen closed since then, which means that the current process isn't the one that responded before. */
  portWasClosed: boolean;
}>;

/** The node is unhealthy. */
export type UnhealthyPeriod = Readonly<{
  /**
   * Time since which the node counts as unhealthy (`HealthWatch.ranMs`). For a node that is catching up with its references, the last time
   * at which it got closer to them.
   */
  sinceMs: number;
  /** Min number of blocks by which the node has been behind since then; Infinity if it wasn't compared. */
  nearestBlocks: number;
}>;

/** State of the node's process, apart from its RPC responses. */
export type ProcessObservation = Readonly<{
  /** Last query about whether the node started with a content, for that content and an observed start. */
  requestedStart?: RequestedStart | undefined;
  /** Start of the node, as reported by its driver in this iteration. */
  started?: Promise<NodeStart> | undefined;
  /** Set while the node's RPC does not respond; undefined if it responds or can't be queried. */
  unresponsive?: UnresponsivePeriod | undefined;
  /** Whether the process was visible while the node responded; in that case, if it is no longer visible, it has exited. */
  wasSeen: boolean;
  /** Whether the observed process has exited and no process of the node is running. */
  hasEnded: boolean;
  /** Time (wall clock) since which a node that responds has had no visible process. */
  missedAtMs?: number | undefined;
  /** Time until which an unresponsive node may still be starting (wall clock). */
  startingUntilMs?: number | undefined;
  /** State of an unhealthy node; undefined if it isn't known to be unhealthy. */
  unhealthy?: UnhealthyPeriod | undefined;
}>;

export type ObservedProcess = Observation<ProcessObservation>;

/** Creates the observation of the process. `wasSeen`: an earlier sidecar saw the process while the node was healthy. */
export function observeProcess({ wasSeen } = { wasSeen: false }): ObservedProcess {
  return createObservation<ProcessObservation>({ wasSeen, hasEnded: false });
}

/**
 * Whether the node is known not to have read a content because it started long before the content existed. In that case, the content with
 * which the node runs is unknown.
 */
export function isUnread({ requestedStart }: ProcessObservation, contentHash: string | undefined): boolean {
  return requestedStart?.began === "before" && requestedStart.contentHash === contentHash;
}
