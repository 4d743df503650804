import type { ProcessIdentity } from "#daemon/process/running-process.ts";

export type KnownBlock = Readonly<{ number: number; hash: string }>;

/** Facts about the node when it was last seen healthy, with which later checks compare it. */
export type DataMark = Readonly<{
  atMs: number;
  /** A block too deep for any reorganization, and the chain's first block; absent if the node doesn't return blocks by number. */
  block?: KnownBlock | undefined;
  genesis?: string | undefined;
  process: ProcessIdentity | undefined;
}>;

export type DataEvidence = Readonly<{
  mark?: DataMark | undefined;
  /** Starts (wall clock) since the node was last healthy after which its process exited. */
  failedStarts: readonly Readonly<{ atMs: number; message: string }>[];
  /** Time (wall clock) since which the node has had a different hash at the known block's number. */
  otherSinceMs?: number | undefined;
}>;

export const failedStartsMax = 8;
