import { HangingFileSystem, type FilePatience } from "#daemon/files/file-patience.ts";
import { readConfigFile, type ConfigReading } from "./config-file.ts";

/** Reads node.conf as {@link readConfigFile} does; one whose file system hangs is a problem as any other. */
export async function readPatiently(path: string, limitBytes: number, patience: FilePatience): Promise<ConfigReading> {
  try {
    return await patience.call(`reading ${path}`, () => readConfigFile(path, limitBytes));
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, problem: { reason: "Hanging", message: `${path} can't be read: ${error.message}.` } };
  }
}
