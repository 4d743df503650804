import { createObservation, type Observation } from "#health/observation.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import type { ConfigProblem, ConfigProblemReason } from "#node/conf/problem.ts";
import type { Plan } from "../plan/plan.ts";
import type { ConfigWriteFailure, ConfigWriteResult } from "./config-writer.ts";

/** Usability of node.conf; if it can't be used, what becomes of it. Times are of the wall clock. */
export type ConfigValidity = Readonly<
  | { ok: true; path: string }
  | { ok: false; problem: ConfigProblem; next: "stays" | { restoredAtMs: number } | { notRestored: string } }
>;

/** Last comparison of node.conf with what is desired: the plan and the result of its write, or, if the file can't be used, why it was not put back. */
export type ConfigComparison = Readonly<
  | {
      planned: Plan;
      result: ConfigWriteResult | undefined;
      /** Reason for writing nothing. */ idle: string | undefined;
    }
  | { notPutBack: Exclude<ConfigWriteFailure, "ChangedMeanwhile">; message: string }
>;

/** Another writer of node.conf: a process that holds the right to it, the node's own start, or a program that corrections don't stop. */
export type OtherWriter = Readonly<
  | { kind: "locked"; message: string }
  | { kind: "start"; path: string }
  /** `perMinute` is absent if it is the same change again and again; `untilMs`: wall clock. */
  | { kind: "contested"; perMinute: number | undefined; untilMs: number; path: string }
>;

/**
 * Result of `restart.checkCommand` for a content. It is final if the content passed; a refusal, which may have another cause than node.conf, is
 * checked again.
 */
export type CheckedEdit = Readonly<{
  contentHash: string;
  refusal: Readonly<{ words: string; count: number; /** Monotonic. */ againAtMs: number }> | undefined;
}>;

/** State of node.conf, as far as it is known; lost when the sidecar ends, which only costs time. */
export type ConfigObservation = Readonly<{
  /** Hash of its content at the last pass, and since when that has stood (monotonic). */
  contentHash: string | undefined;
  contentSinceMs: number;
  /** Times at which it was last looked at, and last seen with another content (wall clock). */
  lookedAtMs: number | undefined;
  otherAtMs: number;
  /** Its problem at the last pass: contents that can't be read all have no hash. */
  problemReason: ConfigProblemReason | undefined;
  validity: ConfigValidity | undefined;
  /** Whether the node's version is not known, and node.conf is right for a node of some version. */
  mayReportVersion: boolean;
  /** The last document that could be used. */
  document: ConfigDocument | undefined;
  /** The last content that could be used. */
  lastUsable: Readonly<{ contentHash: string; bytes: Uint8Array }> | undefined;
  /** Meaning of what the node had read before node.conf drifted, and until when that was certain (wall clock). */
  previousMeaning: Readonly<{ meaning: string; untilMs: number }> | undefined;
  comparison: ConfigComparison | undefined;
  /** `none` once it was looked for and not found. */
  otherWriter: OtherWriter | "none" | undefined;
  /** Changes of the last correction, in words. */
  corrected: readonly string[];
  /** Content that was last remembered as good. */
  goodHash: string | undefined;
  /** Message if the content is right but could not be remembered as good, with what to do. */
  goodNotKept: string | undefined;
  checked: CheckedEdit | undefined;
}>;

export type ObservedConfig = Observation<ConfigObservation>;

/** Creates an observation with nothing known yet; `onChange` is called after each change. */
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
