import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import type { ConfigVersions } from "./config-versions.ts";

/**
 * Does not wait for a state directory whose file system hangs: a pass, or a roll-back, goes on without its copies.
 *
 * Each call throws `HangingFileSystem` then.
 */
export function versionsWithDeadline(
  versions: ConfigVersions,
  directory: string,
  patience: FileDeadline,
): ConfigVersions {
  const keeping = `keeping a copy of node.conf in ${directory}`;
  const reading = `reading a copy of node.conf in ${directory}`;
  return {
    keep: (bytes) => patience.call(keeping, () => versions.keep(bytes)),
    newest: () => patience.call(reading, versions.newest),
    remember: (slot, bytes) => patience.call(keeping, () => versions.remember(slot, bytes)),
    recall: (slot) => patience.call(reading, () => versions.recall(slot)),
    tidy: () => patience.call(`tidying ${directory}`, versions.tidy),
  };
}
