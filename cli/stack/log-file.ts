import { copyFileSync, existsSync, openSync, statSync, truncateSync } from "node:fs";

const logBytesMax = 10_485_760;

/**
 * Opens a log file for a child to write to, for appending. A child that writes to the file itself, not to a pipe, loses nothing
 * and does not hang when this process dies.
 */
export function openLogFile(path: string): number {
  trimLogFile(path);
  return openSync(path, "a", 0o600);
}

/** Begins a log file anew once it is larger than 10 MiB, and keeps what it held as `<path>.1`. Writers append, so none is lost sight of. */
export function trimLogFile(path: string): void {
  if (!existsSync(path) || statSync(path).size <= logBytesMax) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}
