import { chmodSync, statSync } from "node:fs";

/**
 * Leaves a file of this user's to its owner alone (0600), also one that an earlier version made for everybody. Another user's file, which
 * may not be changed, and what is no file stay as they are.
 */
export function keepPrivate(path: string): void {
  const stats = statSync(path);
  if (stats.isFile() && (stats.mode & 0o077) !== 0 && stats.uid === process.geteuid?.()) chmodSync(path, 0o600);
}
