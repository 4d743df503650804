import { HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import { doneBySidecar, type EventLog } from "#status/event-log.ts";
import { hashContent, readConfigFile, type ConfigReading } from "./config-file.ts";
import { writeConfig, type ConfigWrite, type ConfigWriteResult } from "./config-writer.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { recordIntendedWrite, recordWritten } from "./audited-config.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { WriterLock } from "./writer-lock.ts";

/** Reads node.conf like {@link readConfigFile}, but reports a hung file system as a problem. */
export async function readConfigWithDeadline(
  path: string,
  limitBytes: number,
  fileDeadline: FileDeadline,
): Promise<ConfigReading> {
  try {
    return await fileDeadline.call(`reading ${path}`, () => readConfigFile(path, limitBytes));
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    return { ok: false, problem: { reason: "Unresponsive", message: `${path} can't be read: ${error.message}.` } };
  }
}

const attributesLost = "Correcting node.conf would lose its ACLs and extended attributes: install coreutils.";

/** Logs that already reported the loss: it is the same for each write. */
const reportedLoss = new WeakSet<object>();

/** A change made by writing node.conf, as a sentence, and the reason for it. */
export type DescribedChange = Readonly<{ message: string; why?: string | undefined }>;

/**
 * Writes node.conf like {@link writeConfig}, but doesn't wait for a hung file system. Writes to the audit log right before the replacement
 * and again after it, so that a kill in between leaves a log line. A completed write emits an event. A failed write is logged with the
 * reason, unless it was cancelled because another writer holds the lock or has changed the file.
 */
export async function writeWithDeadline(
  { changes, ...write }: ConfigWrite & Readonly<{ changes: readonly DescribedChange[] }>,
  {
    fileDeadline,
    events,
    lock,
    versions,
    state,
  }: Readonly<{
    fileDeadline: FileDeadline;
    lock: WriterLock;
    versions: ConfigVersions;
    events: Pick<EventLog, "add" | "begin" | "fail">;
    state: Pick<UpkeepState, "auditedConfig">;
  }>,
): Promise<ConfigWriteResult> {
  const sides = { before: { sha256: write.expectedHash }, after: { sha256: hashContent(write.content) } };
  const message = changes.map((change) => change.message).join(" ");
  const beforeReplace = () => {
    events.begin("write", message, changes[0]?.why, { by: "sidecar", ...sides });
  };
  const recordFailure = (why: string) => events.fail("write", `Not done: ${message}`, why, { by: "sidecar", ...sides });
  // Outside the deadline, which is meant for node.conf's file system.
  recordIntendedWrite(write, state);
  try {
    const written = await fileDeadline.call(`writing ${write.path}`, () =>
      writeConfig(write, { lock, versions, beforeReplace }),
    );
    if (written.ok) {
      recordWritten(write, state);
      for (const change of changes) events.add("write", change.message, change.why, { ...doneBySidecar, ...sides });
      if (written.attributesLost !== undefined && !reportedLoss.has(events)) {
        reportedLoss.add(events);
        events.add("write", attributesLost, written.attributesLost, { ...doneBySidecar, ...sides });
      }
    } else if (written.reason !== "ChangedMeanwhile" && written.reason !== "Locked") recordFailure(written.message);
    return written;
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    recordFailure(`${error.message}.`);
    return { ok: false, reason: "WriteFailed", message: `${error.message}.` };
  }
}

/** Replaces node.conf as it was read, in the same way; fails if it has changed since. */
export function replaceConfig(
  reading: ConfigReading,
  write: Omit<Parameters<typeof writeWithDeadline>[0], "expectedHash" | "expectedProblem">,
  dependencies: Parameters<typeof writeWithDeadline>[1],
): Promise<ConfigWriteResult> {
  const expectedProblem = reading.ok ? undefined : reading.problem.reason;
  return writeWithDeadline({ ...write, expectedHash: reading.contentHash, expectedProblem }, dependencies);
}

/**
 * Limits each call by a deadline: if the state directory's file system hangs, a reconcile or rollback continues without its copies.
 *
 * In that case each call throws `HangingFileSystem`.
 */
export function limitVersions(versions: ConfigVersions, directory: string, fileDeadline: FileDeadline): ConfigVersions {
  const keeping = `backing up node.conf to ${directory}`;
  const reading = `reading a backup of node.conf in ${directory}`;
  return {
    keep: (bytes) => fileDeadline.call(keeping, () => versions.keep(bytes)),
    newest: () => fileDeadline.call(reading, versions.newest),
    remember: (slot, bytes) => fileDeadline.call(keeping, () => versions.remember(slot, bytes)),
    recall: (slot) => fileDeadline.call(reading, () => versions.recall(slot)),
    tidy: () => fileDeadline.call(`tidying ${directory}`, versions.tidy),
  };
}
