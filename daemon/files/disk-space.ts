import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";

/** The room on a disk for a process that is not root. */
export type DiskSpace = Readonly<{
  totalBytes: number;
  usedBytes: number;
  /** Bytes that such a process may still write: blocks that the file system reserves for root are neither used nor free. */
  freeBytes: number;
  /** Share of bytes that is free: what `df` leaves of 100 % next to its `Use%`. */
  freeBytesRatio: number;
  /** Share of files (inodes) that is free, as `df -i` counts; 1 if their number is not fixed. */
  freeFilesRatio: number;
  /** The lesser share: nothing new can be written when either is used up. */
  freeRatio: number;
}>;

/**
 * Reads how much room the disk of a path has.
 *
 * @throws what statfs(2) throws.
 */
export async function readDiskSpace(path: string): Promise<DiskSpace> {
  return deriveDiskSpace(await statfs(path));
}

/** Derives the room from what statfs(2) returns. Pure. */
export function deriveDiskSpace({
  bsize,
  blocks,
  bfree,
  bavail,
  files,
  ffree,
}: Pick<StatsFs, "bsize" | "blocks" | "bfree" | "bavail" | "files" | "ffree">): DiskSpace {
  const used = blocks - bfree;
  // A file system without blocks (procfs) has nothing that could run out.
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

/** A copy may not fill the disk to its last byte: others write on. */
const roomShare = 1.1;

/** Whether there is room for a copy of so many bytes. Pure. */
export function hasRoomFor({ bytes, freeBytes }: Readonly<{ bytes: number; freeBytes: number }>): boolean {
  return bytes * roomShare <= freeBytes;
}
