import { statSync, type Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { explainUnreadable } from "./regular-file.ts";

/**
 * Reads a stamp that changes when a file is written or replaced, without reading the file; empty if there is no file. If stat fails, the
 * stamp is the reason for the failure.
 */
export function readStamp(path: string): string {
  try {
    return formatStamp(statSync(path));
  } catch (cause) {
    return formatUnreadableStamp(cause);
  }
}

/** Reads the same stamp as {@link readStamp} without blocking, for files on a file system that may hang. */
export function findStamp(path: string): Promise<string> {
  return stat(path).then(formatStamp, formatUnreadableStamp);
}

/** Includes the inode's change time, because a program can reset the modification time. */
function formatStamp({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

function formatUnreadableStamp(cause: unknown): string {
  const reason = explainUnreadable(cause);
  return reason === "ENOENT" ? "" : reason;
}
