import type { ProcessMark } from "./upgrade-record.ts";

/** A block by its number, as the node returned it. */
export type KnownBlock = Readonly<{ number: number; hash: string }>;

/** What was so when the node was last seen to be well: a later look is compared with it. */
export type DataMark = Readonly<{
  atMs: number;
  /** The highest head. */
  height: number;
  /** A block that no reorganisation reaches any more, and the chain's first one; absent where the node does not return blocks by number. */
  block?: KnownBlock | undefined;
  genesis?: string | undefined;
  /** The version that the node had. */
  version: string | undefined;
  /** The data directory by its inode: another one was put in its place. */
  dataInode: number | undefined;
  /** The process that answered; absent where the sidecar does not see it. */
  process: ProcessMark | undefined;
  /** The programs in the bin directory, as that process was started with; absent where they can't be read. */
  programs: string | undefined;
}>;

/** A start of the node by the sidecar that failed. */
export type FailedStart = Readonly<{
  /** Wall clock. */
  atMs: number;
  /** Whether the process ended, or answered and stayed at its height. Absent: it may have run without an answer. */
  kind?: "ended" | "stood" | undefined;
  /** How long after its start it ended. */
  afterMs?: number | undefined;
  /** The node.conf that it was started with, by its hash; absent where that changed meanwhile. */
  configHash: string | undefined;
  /** How it failed, in words. */
  message: string;
  /** Whether the system killed processes for lack of memory meanwhile. */
  lackedMemory: boolean;
}>;

/** What is remembered about whether the node's data are whole. */
export type DataEvidence = Readonly<{
  mark?: DataMark | undefined;
  /** Since the node was last well, oldest first. */
  failedStarts: readonly FailedStart[];
  /** Since when (wall clock) the node has another hash at the known block's number. */
  otherSinceMs?: number | undefined;
  /** Whether one more start was tried because too few had failed to judge by. */
  wasTriedAgain?: boolean | undefined;
}>;

/** A restore that the sidecar began by itself: one snapshot is used once. */
export type OwnRestore = Readonly<{
  /** What distinguishes the snapshot from another one under its name. */
  snapshot: string;
  sources: readonly string[];
  /** Wall clock. */
  atMs: number;
}>;

/** Failed starts, and restores, of which more are not kept. */
export const failedStartsKept = 8;
export const ownRestoresKept = 16;
