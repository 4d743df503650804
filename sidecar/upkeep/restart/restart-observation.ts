import { createObservation, type Observation } from "#health/observation.ts";
import type { HealthyProof } from "../state/upkeep-state.ts";
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
  /** What was last decided, or why a changed node.conf is no reason to restart. Absent before the first pass. */
  settled: RestartDecision | Readonly<{ refusedEdit: string }> | undefined;
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
