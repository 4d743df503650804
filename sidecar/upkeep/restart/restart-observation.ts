import { createObservation, type Observation } from "#health/observation.ts";
import type { HealthyProof } from "../state/upkeep-state.ts";
import type { NodeStarted, NodeStart } from "../drivers/driver.ts";
import type { RestartDecision } from "./restart-decision.ts";

/** Configuration retained for a rollback. `failedUntilMs` (monotonic): saving it failed, and is retried then. */
export type StoredConfig = Readonly<{ hash?: string; proof?: HealthyProof; failedUntilMs?: number }>;

/** Whether there is a node.conf to roll back to; if `nothing`, `because` has the reason. */
export type RollBackFinding = Readonly<
  | { kind: "noRestarts" }
  | { kind: "notKept" | "advanced" | "assumed"; directory: string }
  | { kind: "nothing"; because: "notYet" | "unread" | "unknown" }
>;

/** Last observed state of the node's restarts. */
export type RestartObservation = Readonly<{
  /** Restart in progress; `stage`: what it waits for, and its deadline. */
  running: Promise<void> | undefined;
  stage: string | undefined;
  /** Last decision, or why a changed node.conf doesn't cause a restart or can't be judged. Absent before the first iteration. */
  settled: RestartDecision | Readonly<{ refusedEdit: string }> | Readonly<{ unjudgedEdit: string }> | undefined;
  /** Active pause at the last check. */
  hold: "none" | Readonly<{ message: string }> | undefined;
  /** Reloaded when absent. */
  kept: StoredConfig | undefined;
  /** Active content, and the height at which it was first seen active. */
  advancing: Readonly<{ contentHash: string; height: number | undefined }> | undefined;
  rollBack: RollBackFinding | undefined;
}>;

export type ObservedRestarts = Observation<RestartObservation>;

/** Creates an empty observation of restarts. */
export function observeRestarts(onChange?: () => void): ObservedRestarts {
  return createObservation<RestartObservation>(
    {
      running: undefined,
      stage: undefined,
      settled: undefined,
      hold: undefined,
      kept: undefined,
      advancing: undefined,
      rollBack: undefined,
    },
    onChange,
  );
}

/** Query whether the node started with a content, and its result. */
export type RequestedStart = Readonly<{
  contentHash: string;
  startedAfterMs: number | undefined;
  /** Time of the query (monotonic). */
  atMs: number;
  /** Absent until known. */
  began?: NodeStarted;
}>;

/** Node RPC without a response. */
export type Silence = Readonly<{
  /** Start of the unresponsiveness (`HealthWatch.ranMs`). */
  sinceMs: number;
  /** Whether its port was seen closed since: the process running now isn't the one that responded. */
  portWasClosed: boolean;
}>;

/** Unhealthy node. */
export type Unwell = Readonly<{
  /** Time since which it counts as unhealthy (`HealthWatch.ranMs`). For a node that is catching up with its references, the time when it last got closer. */
  sinceMs: number;
  /** Min number of blocks that it was behind since; Infinity if it wasn't compared. */
  nearestBlocks: number;
}>;

/** State of the node's process, apart from its RPC responses. */
export type ProcessObservation = Readonly<{
  /** Last query whether the node started with a content, for that content and an observed start. */
  requestedStart: RequestedStart | undefined;
  /** Start of the node, as reported by its driver in this iteration. */
  started: Promise<NodeStart> | undefined;
  /** Unresponsiveness of the node's RPC; undefined if it responds, or can't be queried. */
  silence: Silence | undefined;
  /** Whether the process was visible while the node responded: if it is no longer visible, it has exited. */
  wasSeen: boolean;
  /** Whether the observed process has exited, and no process of the node runs. */
  hasEnded: boolean;
  /** Time (wall clock) since which a responding node has no visible process. */
  missedAtMs: number | undefined;
  /** Time until which an unresponsive node may still be starting (wall clock). */
  startingUntilMs: number | undefined;
  /** State of an unhealthy node; undefined if it isn't known to be unhealthy. */
  unwell: Unwell | undefined;
}>;

export type ObservedProcess = Observation<ProcessObservation>;

/** Creates the observation of the process; `wasSeen`: an earlier sidecar saw it while the node was healthy. */
export function observeProcess({ wasSeen } = { wasSeen: false }): ObservedProcess {
  return createObservation<ProcessObservation>({
    requestedStart: undefined,
    started: undefined,
    silence: undefined,
    wasSeen,
    hasEnded: false,
    missedAtMs: undefined,
    startingUntilMs: undefined,
    unwell: undefined,
  });
}

/** Whether the node is known not to have read a content: it started long before the content existed, so that the content it runs with is unknown. */
export function isUnread({ requestedStart }: ProcessObservation, contentHash: string | undefined): boolean {
  return requestedStart?.began === "before" && requestedStart.contentHash === contentHash;
}
