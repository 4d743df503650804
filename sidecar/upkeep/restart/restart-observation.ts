import { createObservation, type Observation } from "#health/observation.ts";
import type { HealthyProof } from "../state/upkeep-state.ts";
import type { NodeBegan, NodeStart } from "../drivers/driver.ts";
import type { RestartDecision } from "./restart-decision.ts";

/** What is remembered to go back to. `failedUntilMs` (monotonic): it could not be kept, and is tried again then. */
export type KeptConfig = Readonly<{ hash?: string; proof?: HealthyProof; failedUntilMs?: number }>;

/** Whether there is a node.conf to go back to; `nothing`: how that comes. */
export type RollBackFinding = Readonly<
  | { kind: "noRestarts" }
  | { kind: "notKept" | "advanced" | "assumed"; directory: string }
  | { kind: "nothing"; because: "notYet" | "unread" | "unknown" }
>;

/** What is known of the node's restarts. */
export type RestartObservation = Readonly<{
  /** The restart that runs, what it waits for, and until when. */
  running: Promise<void> | undefined;
  stage: string | undefined;
  /** What was last decided, or why a changed node.conf is no reason to restart, or can't be judged. Absent before the first pass. */
  settled: RestartDecision | Readonly<{ refusedEdit: string }> | Readonly<{ unjudgedEdit: string }> | undefined;
  /** The hold that was in force when that was last looked at. */
  hold: "none" | Readonly<{ message: string }> | undefined;
  /** Looked up when absent. */
  kept: KeptConfig | undefined;
  /** The content in force, and the height at which it was first seen so. */
  advancing: Readonly<{ contentHash: string; height: number | undefined }> | undefined;
  rollBack: RollBackFinding | undefined;
}>;

export type ObservedRestarts = Observation<RestartObservation>;

/** Nothing is known of restarts yet. */
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

/** The answer to whether the node began with a content. */
export type RequestedStart = Readonly<{
  contentHash: string;
  startedAfterMs: number | undefined;
  atMs: number;
  /** Absent until it is known. */
  began?: NodeBegan;
}>;

/** A node's RPC that gives no answer. */
export type Silence = Readonly<{
  /** Since when (`HealthWatch.ranMs`). */
  sinceMs: number;
  /** Whether its port was seen closed since: what runs now is not what answered before. */
  portWasClosed: boolean;
}>;

/** A node that is unwell. */
export type Unwell = Readonly<{
  /** Since when (`HealthWatch.ranMs`). One that is behind its references and comes nearer is so since it last came nearer. */
  sinceMs: number;
  /** The fewest blocks that it was behind since; Infinity where it was not compared. */
  nearestBlocks: number;
}>;

/** What is known of the node's process besides what its RPC answers. */
export type ProcessObservation = Readonly<{
  /** When it was last asked (monotonic) since when the node runs, for a content and a start that was seen. */
  requestedStart: RequestedStart | undefined;
  /** When the node started, as its driver reported in this pass. */
  started: Promise<NodeStart> | undefined;
  /** That the node has not answered. */
  silence: Silence | undefined;
  /** Whether the process was seen while the node answered: one that is not seen any more has ended. */
  wasSeen: boolean;
  /** Since when (wall clock) no process of a node that answered last is seen. */
  missedAtMs: number | undefined;
  /** Until when a silent node may still be starting (wall clock). */
  startingUntilMs: number | undefined;
  /** That the node is unwell. */
  unwell: Unwell | undefined;
}>;

export type ObservedProcess = Observation<ProcessObservation>;

/** Nothing is known of the process yet. */
export function observeProcess(): ObservedProcess {
  return createObservation<ProcessObservation>({
    requestedStart: undefined,
    started: undefined,
    silence: undefined,
    wasSeen: false,
    missedAtMs: undefined,
    startingUntilMs: undefined,
    unwell: undefined,
  });
}

/** Whether the node is known not to have read a content: it began long before that came, so that nobody knows what it runs with. */
export function isUnread({ requestedStart }: ProcessObservation, contentHash: string | undefined): boolean {
  return requestedStart?.began === "before" && requestedStart.contentHash === contentHash;
}
