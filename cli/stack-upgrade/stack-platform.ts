import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import { UpgradeError } from "#sidecar/upgrade/progress.ts";
import type { StackQueries } from "./node-status.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import type { StackLimits, StackRecord } from "./stack-record.ts";

/** A stack's engine or cluster rejected the call, or could not be reached. A stage waits if a retry may succeed (`isTemporary`). */
export class PlatformError extends UpgradeError {
  override readonly name = "PlatformError";
  override readonly code = "platform_error";

  constructor(message: string, isTemporary: boolean, options?: ErrorOptions) {
    super(message, isTemporary ? "waits" : "failed", options);
  }
}

/** State of a stack on its engine or cluster; `problems` prevent an upgrade. */
export type PlatformCheck = Readonly<{
  problems: readonly string[];
  warnings: readonly string[];
  toolImage: string | undefined;
  /** node.conf in base64; undefined if it could not be read. */
  conf: string | undefined;
  /** Size and method of the copy, e.g. "1.00 GiB, cloned". */
  copyWords: string;
}>;

export type NodeExit = Readonly<{ exitCode: number; isOutOfMemory: boolean }>;

/**
 * A stack's engine or cluster: its name in messages, and the actions that an upgrade performs there. Each action is
 * idempotent, even if interrupted halfway, and may throw {@link PlatformError}.
 */
export type StackPlatform = Readonly<{
  node: string;
  volume: string;
  /** Sentences about an upgrade's steps, for the operator to confirm. */
  plan: Readonly<{ stop: string; copy: (copyWords: string) => string; update: string; clean: string; back: string }>;
  /** Evidence of the running image, for a node that reports no version. */
  imageProof: string;
  resumeCommand: string;
  /** Whether a rollback keeps the data of the failed version on the node's volume. */
  keepsFailedData: boolean;
  /** Leaves no changes. */
  check: (image: string) => Promise<PlatformCheck>;
  /** Returns whether the node is stopped, and an identifier of its last start; if the identifier differs later, the node was started again. */
  see: () => Promise<Readonly<{ isStopped: boolean; lastStart: string | undefined }>>;
  /** Stops sidecar and node within the node's grace period; undefined if there is no evidence left of how the node exited. */
  end: () => Promise<NodeExit | undefined>;
  stop: () => Promise<void>;
  /** Starts node and sidecar, if stopped, as deployed by Pulumi. */
  start: () => Promise<void>;
  copyData: (record: StackRecord) => Promise<void>;
  restoreData: (record: StackRecord) => Promise<void>;
  /** Removes the copy, but not the data of a failed version. */
  removeCopy: (record: StackRecord) => Promise<void>;
  formatDiscardCommand: (record: StackRecord) => string;
  /**
   * Explains where the data is if the node was started on a half-finished restore that has already consumed the copy; absent if a restore
   * always starts over.
   */
  explainSpoiled?: (record: StackRecord) => string;
  runsImage: (image: string) => Promise<boolean>;
  /**
   * Repairs what a killed update left, after an update that failed with this output or, if undefined, did not change the node. Returns
   * whether the update should be repeated.
   */
  repair: (
    failed: string | undefined,
    record: StackRecord,
    work: Pick<StackTask, "pulumi" | "say">,
  ) => Promise<boolean>;
}>;

export type StackTask = Readonly<{
  pulumi: PulumiCli;
  platform: StackPlatform;
  queries: StackQueries;
  say: (line: string) => void;
  clock: Clock;
  pause: Pause;
  signal: AbortSignal;
  /** How often a node is checked during verification, and how long it has to stay healthy. */
  proof: Readonly<{ everyMs: number; steadyMs: number }>;
  /** Min time limits of the rollback, independent of those requested for the upgrade. */
  rollbackLimits?: StackLimits;
}>;
