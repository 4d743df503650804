import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";

/** The disk space available to a non-root process. */
export type DiskSpace = Readonly<{
  totalBytes: number;
  usedBytes: number;
  /** Bytes that a non-root process may still write: blocks reserved for root count as neither used nor free. */
  freeBytes: number;
  /** Share of free bytes: 100 % minus the `Use%` of `df`. */
  freeBytesRatio: number;
  /** Share of inodes that are free, as in `df -i`; 1 if the file system has no fixed number. */
  freeFilesRatio: number;
  /** The smaller share: no new file can be written when either is exhausted. */
  freeRatio: number;
}>;

/**
 * Reads the disk space at a path.
 *
 * @throws any error from statfs(2).
 */
export async function readDiskSpace(path: string): Promise<DiskSpace> {
  return deriveDiskSpace(await statfs(path));
}

/** Derives the disk space from the result of statfs(2). Pure. */
export function deriveDiskSpace({
  bsize,
  blocks,
  bfree,
  bavail,
  files,
  ffree,
}: Pick<StatsFs, "bsize" | "blocks" | "bfree" | "bavail" | "files" | "ffree">): DiskSpace {
  const used = blocks - bfree;
  // A file system without blocks (procfs) can't run out of them.
  const freeBytesRatio = used + bavail === 0 ? 1 : bavail / (used + bavail);
  const freeFilesRatio = files === 0 ? 1 : ffree / files;
  return {
    totalBytes: blocks * bsize,
    usedBytes: used * bsize,
    freeBytes: bavail * bsize,
    freeBytesRatio,
    freeFilesRatio,
    freeRatio: Math.min(freeBytesRatio, freeFilesRatio),
  };
}

/** A copy must leave space on the disk: other processes keep writing. */
const roomShare = 1.1;

/** Checks whether a copy of this size fits. Pure. */
export function hasSpaceFor({ bytes, freeBytes }: Readonly<{ bytes: number; freeBytes: number }>): boolean {
  return bytes * roomShare <= freeBytes;
}
