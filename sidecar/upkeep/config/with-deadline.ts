import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { hashContent, readConfigFile, type ConfigReading } from "./config-file.ts";
import { writeConfig, type ConfigWrite, type ConfigWriteResult } from "./config-writer.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { WriterLock } from "./writer-lock.ts";

/** Reads node.conf as {@link readConfigFile} does; one whose file system hangs is a problem as any other. */
export async function readWithDeadline(
  path: string,
  limitBytes: number,
  fileDeadline: FileDeadline,
): Promise<ConfigReading> {
  try {
    return await fileDeadline.call(`reading ${path}`, () => readConfigFile(path, limitBytes));
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, problem: { reason: "Hanging", message: `${path} can't be read: ${error.message}.` } };
  }
}

/** What a write of node.conf changes: a sentence, and why. */
export type DescribedChange = Readonly<{ message: string; why?: string | undefined }>;

/**
 * Writes node.conf as {@link writeConfig} does, and does not wait for a file system that hangs. The audit log has it right before the file is
 * replaced and again after it, so that a kill between them leaves a line; what was written is an event.
 */
export async function writeWithDeadline(
  { changes, ...write }: ConfigWrite & Readonly<{ changes: readonly DescribedChange[] }>,
  {
    fileDeadline,
    events,
    lock,
    versions,
  }: Readonly<{
    fileDeadline: FileDeadline;
    lock: WriterLock;
    versions: ConfigVersions;
    events: Pick<EventLog, "add" | "begin">;
  }>,
): Promise<ConfigWriteResult> {
  const sides = { before: { sha256: write.expectedHash }, after: { sha256: hashContent(write.content) } };
  const beforeReplace = () => {
    const message = changes.map((change) => change.message).join(" ");
    events.begin("write", message, changes[0]?.why, { by: "sidecar", ...sides });
  };
  try {
    const written = await fileDeadline.call(`writing ${write.path}`, () =>
      writeConfig(write, { lock, versions, beforeReplace }),
    );
    if (written.ok)
      for (const { message, why } of changes) events.add("write", message, why, { ...doneBySidecar, ...sides });
    return written;
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, reason: "NotWritten", message: `${error.message}.` };
  }
}

/**
 * Does not wait for a state directory whose file system hangs: a pass, or a roll-back, goes on without its copies.
 *
 * Each call throws `HangingFileSystem` then.
 */
export function limitVersions(versions: ConfigVersions, directory: string, fileDeadline: FileDeadline): ConfigVersions {
  const keeping = `keeping a copy of node.conf in ${directory}`;
  const reading = `reading a copy of node.conf in ${directory}`;
  return {
    keep: (bytes) => fileDeadline.call(keeping, () => versions.keep(bytes)),
    newest: () => fileDeadline.call(reading, versions.newest),
    remember: (slot, bytes) => fileDeadline.call(keeping, () => versions.remember(slot, bytes)),
    recall: (slot) => fileDeadline.call(reading, () => versions.recall(slot)),
    tidy: () => fileDeadline.call(`tidying ${directory}`, versions.tidy),
  };
}
