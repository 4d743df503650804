import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, sep } from "node:path";
import { removeTemporaryFiles, replaceFile } from "#daemon/files/atomic-file.ts";
import { HangingFileSystem } from "#daemon/files/file-deadline.ts";
import { runProcess } from "#daemon/process/bounded-process.ts";
import { skipMissing } from "#daemon/skip-missing.ts";
import type { ConfigProblemReason } from "#node/conf/problem.ts";
import { doneBySidecar } from "#status/event-log.ts";
import type { ConfigContext } from "./config-context.ts";
import { hashContent, readConfigFile, type ConfigReading } from "./config-file.ts";
import type { ConfigWriteResult } from "./config-observation.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { WriterLock } from "./writer-lock.ts";

type ConfigWrite = Readonly<{
  path: string;
  limitBytes: number;
  /** Hash that the content must have right before it is replaced; undefined if no readable content is expected. */
  expectedHash: string | undefined;
  /** Problem that the file must have at that moment; absent if the file must be usable. */
  expectedProblem?: ConfigProblemReason | undefined;
  content: Uint8Array;
}>;

class ChangedMeanwhile extends Error {
  override readonly name = "ChangedMeanwhile";
  readonly code = "changed_meanwhile";
}

/** Replaces node.conf (a link's target) atomically, only if it is as expected and can be backed up. */
export async function writeConfig(
  write: ConfigWrite,
  lock: WriterLock,
  versions: ConfigVersions | undefined,
  beforeReplace?: () => void,
): Promise<ConfigWriteResult> {
  const heldLock = await lock.acquireOnceReached();
  if (!heldLock.ok) return heldLock;
  try {
    const readingBefore = await readConfigFile(write.path, write.limitBytes);
    if (!readingBefore.ok && readingBefore.bytes === undefined && readingBefore.problem.reason !== "FileMissing") {
      const message = `${readingBefore.problem.message} It can't be backed up, so it is not replaced.`;
      return { ok: false, reason: "BackupFailed", message };
    }
    const hasContent = readingBefore.bytes !== undefined && readingBefore.bytes.length > 0;
    const kept = hasContent ? await keepCopy(readingBefore.bytes, write.path, versions) : { ok: true as const };
    if (!kept.ok) return kept;
    const target = await resolveLinks(write.path);
    const unsafeLink = await findUnsafeLink(write.path, target);
    if (unsafeLink !== undefined) return { ok: false, reason: "WriteFailed", message: unsafeLink };
    await removeTemporaryFilesOf(target);
    let attributesLost: string | undefined;
    await replaceFile(target, write.content, {
      // A missing node.conf is created for the node, whose user may not be the sidecar's.
      mode: "as-directory",
      copyAttributes: async (from, to) => {
        attributesLost = await copyAttributes(from, to);
      },
      beforeRename: async () => {
        const now = await readConfigFile(write.path, write.limitBytes);
        const problem = now.ok ? undefined : now.problem.reason;
        if (now.contentHash !== write.expectedHash || problem !== write.expectedProblem) throw new ChangedMeanwhile();
        beforeReplace?.();
      },
    });
    return { ...kept, attributesLost };
  } catch (error) {
    if (error instanceof ChangedMeanwhile) {
      const message = `${write.path} was changed by another writer at the same time; rereading it.`;
      return { ok: false, reason: "ChangedMeanwhile", message };
    }
    return { ok: false, reason: "WriteFailed", message: `${write.path} can't be written (${explainError(error)}).` };
  }
}

/** A change made by writing node.conf, as a sentence, and the reason for it. */
export type DescribedChange = Readonly<{ message: string; why?: string | undefined }>;

const lossMessage = "Correcting node.conf would lose its ACLs and extended attributes: install coreutils.";

/** Logs that already reported the loss, which is the same for each write. */
const attributeLossReported = new WeakSet<object>();

/**
 * Replaces node.conf like {@link writeConfig}, unless it has changed since this reading; doesn't wait for a hung file system. Writes to the
 * audit log right before the replacement and after it, so that a kill in between leaves an entry; a failure is logged unless another writer
 * has the lock or changed the file.
 */
export async function replaceConfig(
  reading: ConfigReading,
  content: Uint8Array,
  changes: readonly DescribedChange[],
  { place, settings, events, versions, state: { auditedConfig } }: ConfigContext,
  path = place.layout().configPath,
): Promise<ConfigWriteResult> {
  const expectedHash = reading.contentHash;
  const expectedProblem = reading.ok ? undefined : reading.problem.reason;
  const write = { path, limitBytes: settings.upkeep.configLimitBytes, expectedHash, expectedProblem, content };
  const sha256 = hashContent(content);
  const sides = { before: { sha256: expectedHash }, after: { sha256 } };
  const message = changes.map((change) => change.message).join(" ");
  const beginEvent = () => events.begin("write", message, changes[0]?.why, { by: "sidecar", ...sides });
  const fail = (why: string) => events.fail("write", `Not done: ${message}`, why, { by: "sidecar", ...sides });
  // Recorded outside the deadline, which applies to node.conf's file system, and only once: a failed write is retried at each iteration.
  const audited = { path, sha256: expectedHash, writing: sha256 };
  if (JSON.stringify(audited) !== JSON.stringify(auditedConfig.get())) auditedConfig.set(audited);
  try {
    const written = await place.fileDeadline.call(`writing ${path}`, () =>
      writeConfig(write, place.lock(), versions, beginEvent),
    );
    if (!written.ok) {
      if (written.reason !== "ChangedMeanwhile" && written.reason !== "Locked") fail(written.message);
      return written;
    }
    auditedConfig.set({ path, sha256 });
    for (const change of changes) events.add("write", change.message, change.why, { ...doneBySidecar, ...sides });
    if (written.attributesLost !== undefined && !attributeLossReported.has(events)) {
      attributeLossReported.add(events);
      events.add("write", lossMessage, written.attributesLost, { ...doneBySidecar, ...sides });
    }
    return written;
  } catch (error) {
    if (!(error instanceof HangingFileSystem)) throw error;
    fail(`${error.message}.`);
    return { ok: false, reason: "WriteFailed", message: `${error.message}.` };
  }
}

async function keepCopy(
  bytes: Uint8Array,
  path: string,
  versions: ConfigVersions | undefined,
): Promise<ConfigWriteResult> {
  try {
    return { ok: true, copy: await versions?.keep(bytes) };
  } catch (error) {
    const message = `${path} is not changed, because it can't be backed up to the state directory (${explainError(error)}).`;
    return { ok: false, reason: "BackupFailed", message };
  }
}

/** Removes temporary files left next to node.conf by a process killed during a write. The caller must hold node.conf's lock. */
export async function removeStaleConfigFiles(path: string): Promise<void> {
  await removeTemporaryFilesOf(await resolveLinks(path));
}

async function removeTemporaryFilesOf(path: string): Promise<void> {
  await removeTemporaryFiles(dirname(path), (name) => name === basename(path));
}

/** Explains why root must not write through a link that another user could point anywhere (proc(5), protected_symlinks). */
async function findUnsafeLink(path: string, target: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || path === target) return undefined;
  const owner = await stat(target).catch(() => undefined);
  const parts = path.split(sep);
  for (const [at] of parts.entries()) {
    const prefix = parts.slice(0, at + 1).join(sep) || sep;
    const found = await lstat(prefix).catch(() => undefined);
    if (found?.isSymbolicLink() !== true || found.uid === 0 || found.uid === owner?.uid) continue;
    return (
      `${prefix} is a link owned by user ${found.uid} to ${target}, owned by user ${owner?.uid ?? "unknown"}; root does not follow it. ` +
      `Replace the link with the file, or run the sidecar as the node's user.`
    );
  }
  return undefined;
}

async function resolveLinks(path: string): Promise<string> {
  return (await realpath(path).catch(skipMissing)) ?? path;
}

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full; free space",
  EDQUOT: "the disk quota is exhausted; free space",
  EROFS: "the file system is read-only; mount it read-write for the sidecar",
  EACCES: "the sidecar's user has no write permission there; grant it",
  EPERM: "the sidecar's user can't preserve the file's owner; run the sidecar as that owner",
  EBUSY: "the file itself is mounted; mount its directory instead",
  ENOENT: "its directory is missing; retried when it exists again",
};

function explainError(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  const remedy = code === undefined ? undefined : remedies[code];
  return remedy === undefined ? String((error as Error).message) : `${code}: ${remedy}`;
}

/**
 * Copies ACLs and extended attributes with coreutils' `cp`; returns why this machine can't do that. @throws when only this call of `cp`
 * failed.
 */
async function copyAttributes(from: string, to: string): Promise<string | undefined> {
  const copyResult = await runProcess({
    command: ["cp", "--preserve=all", "--no-preserve=timestamps,ownership", "--attributes-only", "--", from, to],
    directory: dirname(to),
    timeoutMs: 10_000,
    outputLimitBytes: 4_096,
    signal: new AbortController().signal,
  });
  if (copyResult.ok) return undefined;
  if (copyResult.reason === "NotFound" || copyResult.exitStatus !== undefined) return copyResult.message;
  throw new Error(copyResult.message);
}
