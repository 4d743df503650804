import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { writeConfig, type ConfigWrite, type ConfigWriteResult } from "./config-writer.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { WriterLock } from "./writer-lock.ts";

/** Writes node.conf as {@link writeConfig} does, and does not wait for a file system that hangs. */
export async function writeWithDeadline(
  write: ConfigWrite,
  { patience, ...dependencies }: Readonly<{ patience: FileDeadline; lock: WriterLock; versions: ConfigVersions }>,
): Promise<ConfigWriteResult> {
  try {
    return await patience.call(`writing ${write.path}`, () => writeConfig(write, dependencies));
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, reason: "NotWritten", message: `${error.message}.` };
  }
}
