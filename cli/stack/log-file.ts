import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { openToAppend } from "#daemon/files/append-file.ts";

const logBytesMax = 10_485_760;
const pieceBytes = 1_048_576;

/**
 * Opens a log file in append mode for a child to write to, and trims it. Because the child writes directly to the file, not to a pipe, it
 * loses no output and does not hang if this process dies.
 *
 * @throws {StartupError} for a symbolic link, which another user may have put in place of the file.
 */
export function openLogFile(path: string): number {
  const file = openToAppend(path);
  try {
    if (fstatSync(file).size > logBytesMax) moveContent(file, `${path}.1`);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Truncates a log file larger than 10 MiB, and keeps its content as `<path>.1`. Writers append, so they continue in the same file. */
export function trimLogFile(path: string): void {
  closeSync(openLogFile(path));
}

function moveContent(from: number, path: string): void {
  rmSync(path, { force: true });
  // Exclusive: a symbolic link that appears in the meantime is not followed.
  const to = openSync(path, "wx", 0o600);
  try {
    const piece = Buffer.alloc(pieceBytes);
    for (let read = readSync(from, piece); read > 0; read = readSync(from, piece)) {
      writeFileSync(to, piece.subarray(0, read));
    }
  } finally {
    closeSync(to);
  }
  ftruncateSync(from);
}
