import { createObservation, type Observation } from "#health/observation.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import type { ConfigProblem, ConfigProblemReason } from "#node/conf/problem.ts";
import type { Plan } from "../plan/plan.ts";
import type { ConfigWriteFailure, ConfigWriteResult } from "./config-writer.ts";

/** Whether node.conf can be used; if not, what becomes of it. Times are of the wall clock. */
export type ConfigValidity = Readonly<
  | { ok: true; path: string }
  | { ok: false; problem: ConfigProblem; next: "stays" | { restoredAtMs: number } | { notRestored: string } }
>;

/** How node.conf was last found compared with what is desired: by a plan and what came of it, or, where it can't be used, by why it was not put back. */
export type ConfigComparison = Readonly<
  | { planned: Plan; result: ConfigWriteResult | undefined; /** Why nothing was written. */ idle: string | undefined }
  | { notPutBack: Exclude<ConfigWriteFailure, "ChangedMeanwhile">; message: string }
>;

/** Who else writes node.conf: another process that holds the right to, or a program that corrections don't stop. */
export type OtherWriter = Readonly<
  | { kind: "locked"; message: string }
  /** `perMinute` is absent where it is the same change again and again; `untilMs`: wall clock. */
  | { kind: "contested"; perMinute: number | undefined; untilMs: number; path: string }
>;

/**
 * What `restart.checkCommand` said of a content. What lets the content pass holds; a refusal, for which something else than node.conf may be the
 * cause, is requested again.
 */
export type CheckedEdit = Readonly<{
  contentHash: string;
  refusal: Readonly<{ words: string; count: number; /** Monotonic. */ againAtMs: number }> | undefined;
}>;

/** What is known of node.conf; lost when the sidecar ends, which only costs time. */
export type ConfigObservation = Readonly<{
  /** What it held at the last pass, and since when (monotonic). */
  contentHash: string | undefined;
  contentSinceMs: number;
  /** When it was last looked at, and when it was last seen with another content (wall clock). */
  lookedAtMs: number | undefined;
  otherAtMs: number;
  /** What was wrong with it then: contents that can't be read all have no hash. */
  problemReason: ConfigProblemReason | undefined;
  validity: ConfigValidity | undefined;
  /** Whether the node's version is not known, and node.conf is right for a node of some version. */
  mayReportVersion: boolean;
  /** The last document that could be used. */
  document: ConfigDocument | undefined;
  /** What it held when it could last be used. */
  lastUsable: Readonly<{ contentHash: string; bytes: Uint8Array }> | undefined;
  /** Meaning of what the node had read before node.conf drifted, and when that was (wall clock); then it is not known. */
  previousMeaning: Readonly<{ meaning: string; untilMs: number }> | undefined;
  comparison: ConfigComparison | undefined;
  /** `none` once it was looked for. */
  otherWriter: OtherWriter | "none" | undefined;
  /** What the last correction changed, in words. */
  corrected: readonly string[];
  /** Content that was last remembered as good. */
  goodHash: string | undefined;
  /** Why what is right now could not be remembered as good, and what to do. */
  goodNotKept: string | undefined;
  /** What `restart.checkCommand` said of a content. */
  checked: CheckedEdit | undefined;
}>;

export type ObservedConfig = Observation<ConfigObservation>;

/** Nothing is known yet; `onChange` is called after each change. */
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
