import type { ProcessMark } from "./upgrade-record.ts";

export type KnownBlock = Readonly<{ number: number; hash: string }>;

/** Facts about the node when it was last seen healthy, with which later checks compare it. */
export type DataMark = Readonly<{
  atMs: number;
  height: number;
  /** A block too deep for any reorganization, and the chain's first block; absent if the node doesn't return blocks by number. */
  block?: KnownBlock | undefined;
  genesis?: string | undefined;
  version: string | undefined;
  /** Inode of the data directory: a different inode means that the directory was replaced. */
  dataInode: number | undefined;
  process: ProcessMark | undefined;
  programs: string | undefined;
  /** File names of these programs; absent in a mark written by an older version. */
  programNames?: readonly string[] | undefined;
}>;

export type FailedStart = Readonly<{
  /** Wall clock. */
  atMs: number;
  /** Whether the process exited, or responded and stalled at its height. If absent, the process may have run without responding. */
  kind?: "ended" | "stood" | undefined;
  afterMs?: number | undefined;
  /** Hash of the node.conf with which the process was started; absent if node.conf changed during the start. */
  configHash: string | undefined;
  message: string;
  /** Whether the system killed processes during that time because memory ran out. */
  lackedMemory: boolean;
}>;

export type DataEvidence = Readonly<{
  mark?: DataMark | undefined;
  failedStarts: readonly FailedStart[];
  /** Time (wall clock) since which the node has had a different hash at the known block's number. */
  otherSinceMs?: number | undefined;
}>;

export const failedStartsStored = 8;
