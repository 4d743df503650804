import { createObservation, type Observation } from "#health/observation.ts";
import type { HealthyProof } from "../state/upkeep-state.ts";
import type { NodeBegan, NodeStart } from "../drivers/driver.ts";
import type { RestartDecision } from "./restart-decision.ts";

/** Configuration that is kept to roll back to. `failedUntilMs` (monotonic): it could not be kept, and is tried again then. */
export type KeptConfig = Readonly<{ hash?: string; proof?: HealthyProof; failedUntilMs?: number }>;

/** Whether there is a node.conf to roll back to; of `nothing`, `because` says why. */
export type RollBackFinding = Readonly<
  | { kind: "noRestarts" }
  | { kind: "notKept" | "advanced" | "assumed"; directory: string }
  | { kind: "nothing"; because: "notYet" | "unread" | "unknown" }
>;

/** State of the node's restarts, as last seen. */
export type RestartObservation = Readonly<{
  /** Running restart; `stage` says what it waits for, and until when. */
  running: Promise<void> | undefined;
  stage: string | undefined;
  /** Last decision, or why a changed node.conf is no reason to restart or can't be judged. Absent before the first pass. */
  settled: RestartDecision | Readonly<{ refusedEdit: string }> | Readonly<{ unjudgedEdit: string }> | undefined;
  /** Hold in force at the last look. */
  hold: "none" | Readonly<{ message: string }> | undefined;
  /** Looked up when absent. */
  kept: KeptConfig | undefined;
  /** Content in force, and the height at which it was first seen in force. */
  advancing: Readonly<{ contentHash: string; height: number | undefined }> | undefined;
  rollBack: RollBackFinding | undefined;
}>;

export type ObservedRestarts = Observation<RestartObservation>;

/** Creates the observation of restarts, with nothing known yet. */
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

/** Query of whether the node began with a content, and its answer. */
export type RequestedStart = Readonly<{
  contentHash: string;
  startedAfterMs: number | undefined;
  /** Time of the query (monotonic). */
  atMs: number;
  /** Absent until it is known. */
  began?: NodeBegan;
}>;

/** A node's RPC that gives no answer. */
export type Silence = Readonly<{
  /** Start of the silence (`HealthWatch.ranMs`). */
  sinceMs: number;
  /** Whether its port has been seen closed since: another process runs now than the one that answered. */
  portWasClosed: boolean;
}>;

/** A node that is unwell. */
export type Unwell = Readonly<{
  /** Time from which it counts as unwell (`HealthWatch.ranMs`). For one that is behind its references and catches up, that is when it last came nearer. */
  sinceMs: number;
  /** Fewest blocks that it has been behind since; Infinity if it was not compared. */
  nearestBlocks: number;
}>;

/** State of the node's process, apart from its RPC's answers. */
export type ProcessObservation = Readonly<{
  /** Last query of whether the node began with a content, for that content and a start that was seen. */
  requestedStart: RequestedStart | undefined;
  /** Start of the node, as its driver reported in this pass. */
  started: Promise<NodeStart> | undefined;
  /** Silence of the node's RPC; undefined if it answers, or can't be queried. */
  silence: Silence | undefined;
  /** Whether the process was seen while the node answered: if it is no longer seen, it has ended. */
  wasSeen: boolean;
  /** Whether the process that was seen is gone, and nothing of the node runs. */
  hasEnded: boolean;
  /** Time (wall clock) since which no process of an answering node is seen. */
  missedAtMs: number | undefined;
  /** Time until which a silent node may still be starting (wall clock). */
  startingUntilMs: number | undefined;
  /** State of a node that is unwell; undefined if it is not known to be. */
  unwell: Unwell | undefined;
}>;

export type ObservedProcess = Observation<ProcessObservation>;

/** Creates the observation of the process; `wasSeen`: an earlier sidecar saw it while the node ran well. */
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

/** Whether the node is known not to have read a content: it began long before the content was there, so that nobody knows what it runs with. */
export function isUnread({ requestedStart }: ProcessObservation, contentHash: string | undefined): boolean {
  return requestedStart?.began === "before" && requestedStart.contentHash === contentHash;
}
