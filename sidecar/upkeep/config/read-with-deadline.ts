import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { readConfigFile, type ConfigReading } from "./config-file.ts";

/** Reads node.conf as {@link readConfigFile} does; one whose file system hangs is a problem as any other. */
export async function readWithDeadline(
  path: string,
  limitBytes: number,
  patience: FileDeadline,
): Promise<ConfigReading> {
  try {
    return await patience.call(`reading ${path}`, () => readConfigFile(path, limitBytes));
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, problem: { reason: "Hanging", message: `${path} can't be read: ${error.message}.` } };
  }
}
