import type { ProcessMark } from "./upgrade-record.ts";

/** A block by its number, as the node returned it. */
export type KnownBlock = Readonly<{ number: number; hash: string }>;

/** Facts of the node when it was last seen to be well; a later look is compared with them. */
export type DataMark = Readonly<{
  atMs: number;
  /** Highest head. */
  height: number;
  /** Block that no reorganisation reaches any more, and the chain's first one; absent if the node does not return blocks by number. */
  block?: KnownBlock | undefined;
  genesis?: string | undefined;
  /** Version that the node had. */
  version: string | undefined;
  /** Inode of the data directory: another inode means that another directory was put in its place. */
  dataInode: number | undefined;
  /** Process that answered; absent if the sidecar does not see it. */
  process: ProcessMark | undefined;
  /** Programs in the bin directory that the process was started with; absent if they can't be read. */
  programs: string | undefined;
  /** File names of these programs; absent in a mark of an older version. */
  programNames?: readonly string[] | undefined;
}>;

/** A start of the node by the sidecar that failed. */
export type FailedStart = Readonly<{
  /** Wall clock. */
  atMs: number;
  /** Whether the process ended, or answered and stayed at its height. Absent: it may have run without an answer. */
  kind?: "ended" | "stood" | undefined;
  /** Time between its start and its end. */
  afterMs?: number | undefined;
  /** Hash of the node.conf that it was started with; absent if that changed meanwhile. */
  configHash: string | undefined;
  /** Description of the failure. */
  message: string;
  /** Whether the system killed processes for lack of memory meanwhile. */
  lackedMemory: boolean;
}>;

/** Evidence of whether the node's data are whole. */
export type DataEvidence = Readonly<{
  mark?: DataMark | undefined;
  /** Since the node was last well, oldest first. */
  failedStarts: readonly FailedStart[];
  /** Time (wall clock) since which the node has another hash at the known block's number. */
  otherSinceMs?: number | undefined;
}>;

/** Most failed starts that are kept. */
export const failedStartsKept = 8;
