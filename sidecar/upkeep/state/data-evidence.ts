import type { ProcessMark } from "./upgrade-record.ts";

/** Block number and hash, as returned by the node. */
export type KnownBlock = Readonly<{ number: number; hash: string }>;

/** Facts about the node when it was last seen healthy, for comparison by later checks. */
export type DataMark = Readonly<{
  atMs: number;
  /** Highest head. */
  height: number;
  /** Block too deep for any reorganisation, and the chain's first block; absent if the node doesn't return blocks by number. */
  block?: KnownBlock | undefined;
  genesis?: string | undefined;
  /** Version of the node at that time. */
  version: string | undefined;
  /** Inode of the data directory: a different inode means that the directory was replaced. */
  dataInode: number | undefined;
  /** Process that responded; absent if invisible to the sidecar. */
  process: ProcessMark | undefined;
  /** Programs in the bin directory that the process was started with; absent if unreadable. */
  programs: string | undefined;
  /** File names of these programs; absent in a mark of an older version. */
  programNames?: readonly string[] | undefined;
}>;

/** Failed start of the node by the sidecar. */
export type FailedStart = Readonly<{
  /** Wall clock. */
  atMs: number;
  /** Whether the process exited, or responded and stalled at its height. Absent: it may have run without responding. */
  kind?: "ended" | "stood" | undefined;
  /** Time between its start and its exit. */
  afterMs?: number | undefined;
  /** Hash of the node.conf that it was started with; absent if that changed meanwhile. */
  configHash: string | undefined;
  /** Description of the failure. */
  message: string;
  /** Whether the system killed processes for lack of memory meanwhile. */
  lackedMemory: boolean;
}>;

/** Evidence about the integrity of the node's data. */
export type DataEvidence = Readonly<{
  mark?: DataMark | undefined;
  /** Failed starts since the node was last healthy, oldest first. */
  failedStarts: readonly FailedStart[];
  /** Time (wall clock) since which the node has a different hash at the known block's number. */
  otherSinceMs?: number | undefined;
}>;

/** Max failed starts to retain. */
export const failedStartsStored = 8;
