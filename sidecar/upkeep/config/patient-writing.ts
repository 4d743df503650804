import { HangingFileSystem, type FilePatience } from "#daemon/files/file-patience.ts";
import { writeConfig, type ConfigWrite, type ConfigWriteResult } from "./config-writer.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { WriterLock } from "./writer-lock.ts";

/** Writes node.conf as {@link writeConfig} does, and does not wait for a file system that hangs. */
export async function writePatiently(
  write: ConfigWrite,
  { patience, ...dependencies }: Readonly<{ patience: FilePatience; lock: WriterLock; versions: ConfigVersions }>,
): Promise<ConfigWriteResult> {
  try {
    return await patience.call(`writing ${write.path}`, () => writeConfig(write, dependencies));
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, reason: "NotWritten", message: `${error.message}.` };
  }
}
