import { createObservation, type Observation } from "#health/observation.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import type { ConfigProblem, ConfigProblemReason } from "#node/conf/problem.ts";
import type { Plan } from "../plan/plan.ts";
import type { ConfigWriteFailure, ConfigWriteResult } from "./config-writer.ts";

/** Whether node.conf is usable and, if not, the planned restore. Times are wall-clock times. */
export type ConfigValidity = Readonly<
  | { ok: true; path: string }
  | {
      ok: false;
      problem: ConfigProblem;
      next: "stays" | { restoredAtMs: number } | { notRestored: string } | RestoreFailure;
    }
>;

/** Failure to restore the last good content. */
type RestoreFailure = { failure: Exclude<ConfigWriteFailure, "ChangedMeanwhile">; message: string };

/** Last comparison of a usable node.conf with the desired configuration: the plan, and the result of writing it. */
export type ConfigComparison = Readonly<{
  planned: Plan;
  result: ConfigWriteResult | undefined;
  /** Reason why nothing is written. */
  idle: string | undefined;
}>;

/** Another writer of node.conf: the node's own start script, or a program that undoes corrections. */
export type OtherWriter = Readonly<
  | { kind: "start"; path: string }
  /** `perMinute` is absent if the same change recurs; `untilMs`: wall clock. */
  | { kind: "contested"; perMinute: number | undefined; untilMs: number; path: string }
>;

/**
 * Result of `restart.checkCommand` for a given content. A success is final; a failure may have a cause other than node.conf, so the content
 * is checked again.
 */
export type CheckedEdit = Readonly<{
  contentHash: string;
  refusal: Readonly<{ words: string; count: number; /** Monotonic. */ againAtMs: number }> | undefined;
}>;

/** What is known about node.conf. It is lost when the sidecar exits, which only costs time. */
export type ConfigObservation = Readonly<{
  /** Hash of the content at the last iteration, and the time since which it has not changed (monotonic). */
  contentHash?: string | undefined;
  contentSinceMs: number;
  /** Times of the last check and of the last check that found different content (wall clock). */
  lookedAtMs?: number | undefined;
  otherAtMs: number;
  /** Problem found at the last iteration. Needed because unreadable content has no hash. */
  problemReason?: ConfigProblemReason | undefined;
  validity?: ConfigValidity | undefined;
  /** Whether the node's version is unknown and node.conf is right for some node version. */
  mayReportVersion: boolean;
  /** Last usable document. */
  document?: ConfigDocument | undefined;
  /** Last usable content. */
  lastUsable?: Readonly<{ contentHash: string; bytes: Uint8Array }> | undefined;
  /** Meaning of the configuration that the node had read before node.conf drifted, and the time until which that was certain (wall clock). */
  previousMeaning?: Readonly<{ meaning: string; untilMs: number }> | undefined;
  comparison?: ConfigComparison | undefined;
  otherWriter?: OtherWriter | undefined;
  /** Changes made by the last correction, as text. */
  corrected: readonly string[];
  /** Hash of the last content stored as good. */
  goodHash?: string | undefined;
  /** Message, including the remedy, if correct content couldn't be stored as good. */
  goodNotKept?: string | undefined;
  checked?: CheckedEdit | undefined;
}>;

export type ObservedConfig = Observation<ConfigObservation>;

/** Creates an empty observation; calls `onChange` after each change. */
export function observeConfig(onChange?: () => void): ObservedConfig {
  return createObservation<ConfigObservation>(
    { contentSinceMs: 0, otherAtMs: 0, mayReportVersion: false, corrected: [] },
    onChange,
  );
}
