import { createObservation, type Observation } from "#health/observation.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import type { ConfigProblem, ConfigProblemReason } from "#node/conf/problem.ts";
import type { Plan } from "../plan/plan.ts";
import type { ConfigWriteFailure, ConfigWriteResult } from "./config-writer.ts";

/** Usability of node.conf; if it is unusable, the planned restore. Times are of the wall clock. */
export type ConfigValidity = Readonly<
  | { ok: true; path: string }
  | { ok: false; problem: ConfigProblem; next: "stays" | { restoredAtMs: number } | { notRestored: string } }
>;

/** Last comparison of node.conf with the desired configuration: the plan and the result of its write or, for an unusable file, why it wasn't restored. */
export type ConfigComparison = Readonly<
  | {
      planned: Plan;
      result: ConfigWriteResult | undefined;
      /** Reason for not writing. */ idle: string | undefined;
    }
  | { notPutBack: Exclude<ConfigWriteFailure, "ChangedMeanwhile">; message: string }
>;

/** Another writer of node.conf: a process that has the write lock, the node's own start, or a program that undoes corrections. */
export type OtherWriter = Readonly<
  | { kind: "locked"; message: string }
  | { kind: "start"; path: string }
  /** `perMinute` is absent if the same change recurs; `untilMs`: wall clock. */
  | { kind: "contested"; perMinute: number | undefined; untilMs: number; path: string }
>;

/** Result of `restart.checkCommand` for a content. A success is final; a failure may have a cause other than node.conf and is rechecked. */
export type CheckedEdit = Readonly<{
  contentHash: string;
  refusal: Readonly<{ words: string; count: number; /** Monotonic. */ againAtMs: number }> | undefined;
}>;

/** Known state of node.conf; lost when the sidecar exits, which only costs time. */
export type ConfigObservation = Readonly<{
  /** Hash of its content at the last iteration, and since when it is unchanged (monotonic). */
  contentHash: string | undefined;
  contentSinceMs: number;
  /** Times of the last check and of the last check with a different content (wall clock). */
  lookedAtMs: number | undefined;
  otherAtMs: number;
  /** Its problem at the last iteration: unreadable contents all lack a hash. */
  problemReason: ConfigProblemReason | undefined;
  validity: ConfigValidity | undefined;
  /** Whether the node's version is unknown and node.conf is right for a node of some version. */
  mayReportVersion: boolean;
  /** Last usable document. */
  document: ConfigDocument | undefined;
  /** Last usable content. */
  lastUsable: Readonly<{ contentHash: string; bytes: Uint8Array }> | undefined;
  /** Meaning of the config that the node had read before node.conf drifted, and until when that was certain (wall clock). */
  previousMeaning: Readonly<{ meaning: string; untilMs: number }> | undefined;
  comparison: ConfigComparison | undefined;
  /** `none` once a search found none. */
  otherWriter: OtherWriter | "none" | undefined;
  /** Changes of the last correction, as text. */
  corrected: readonly string[];
  /** Hash of the last content stored as good. */
  goodHash: string | undefined;
  /** Message, with the remedy, if a correct content couldn't be stored as good. */
  goodNotKept: string | undefined;
  checked: CheckedEdit | undefined;
}>;

export type ObservedConfig = Observation<ConfigObservation>;

/** Creates an empty observation; calls `onChange` after each change. */
export function observeConfig(onChange?: () => void): ObservedConfig {
  return createObservation<ConfigObservation>(
    {
      contentHash: undefined,
      contentSinceMs: 0,
      lookedAtMs: undefined,
      otherAtMs: 0,
      problemReason: undefined,
      validity: undefined,
      mayReportVersion: false,
      document: undefined,
      lastUsable: undefined,
      previousMeaning: undefined,
      comparison: undefined,
      otherWriter: undefined,
      corrected: [],
      goodHash: undefined,
      goodNotKept: undefined,
      checked: undefined,
    },
    onChange,
  );
}
