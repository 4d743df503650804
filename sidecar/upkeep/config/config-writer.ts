import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, sep } from "node:path";
import { removeTemporaryFiles, replaceFile } from "#daemon/files/atomic-file.ts";
import { skipMissing } from "#daemon/skip-missing.ts";
import { readConfigFile } from "./config-file.ts";
import type { ConfigProblemReason } from "#node/conf/problem.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { WriterLock } from "./writer-lock.ts";
import { runProcess } from "#daemon/process/bounded-process.ts";

/** Write of node.conf. */
export type ConfigWrite = Readonly<{
  path: string;
  limitBytes: number;
  /** Hash that the content must have right before it is replaced; undefined if no readable content is expected. */
  expectedHash: string | undefined;
  /** Problem that the file must have at that moment; absent if the file must be usable. */
  expectedProblem?: ConfigProblemReason | undefined;
  content: Uint8Array;
}>;

/** Reason why node.conf was not written. */
export type ConfigWriteFailure = "Locked" | "LockFailed" | "ChangedMeanwhile" | "BackupFailed" | "WriteFailed";

/** `attributesLost`: the reason why the file's ACLs and extended attributes, if any, are not preserved. `copy`: path of the copy of the old content. */
export type ConfigWriteResult = Readonly<
  | { ok: true; attributesLost?: string | undefined; copy?: string | undefined }
  | { ok: false; reason: ConfigWriteFailure; message: string }
>;

class ChangedMeanwhile extends Error {
  override readonly name = "ChangedMeanwhile";
  readonly code = "changed_meanwhile";
}

/**
 * Replaces node.conf: takes the lock, saves the old content (if `versions` is given), writes a temporary file next to node.conf, compares
 * once more, renames. Does not replace content that can't be saved because it is unreadable or too large. Replaces a symbolic link's
 * target, not the link.
 */
export async function writeConfig(
  write: ConfigWrite,
  {
    lock,
    versions,
    beforeReplace,
  }: Readonly<{
    lock: WriterLock;
    versions: ConfigVersions | undefined;
    /** Called right before the rename. */
    beforeReplace?: () => void;
  }>,
): Promise<ConfigWriteResult> {
  const locked = await lock.acquireOnceReached();
  if (!locked.ok) return locked;
  try {
    const before = await readConfigFile(write.path, write.limitBytes);
    if (!before.ok && before.bytes === undefined && before.problem.reason !== "FileMissing") {
      return {
        ok: false,
        reason: "BackupFailed",
        message: `${before.problem.message} It can't be backed up, so it is not replaced.`,
      };
    }
    const hasContent = before.bytes !== undefined && before.bytes.length > 0;
    const kept = hasContent ? await keepCopy(before.bytes, write.path, versions) : { ok: true as const };
    if (!kept.ok) return kept;
    const target = await resolveLinks(write.path);
    const foreign = await findForeignLink(write.path, target);
    if (foreign !== undefined) return { ok: false, reason: "WriteFailed", message: foreign };
    await removeTemporariesOf(target);
    let attributesLost: string | undefined;
    await replaceFile(target, write.content, {
      mode: 0o600,
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
  await removeTemporariesOf(await resolveLinks(path));
}

async function removeTemporariesOf(path: string): Promise<void> {
  await removeTemporaryFiles(dirname(path), (name) => name === basename(path));
}

/**
 * Explains why root must not write through a link: the link's owner, e.g. the node's user, could point it at any file on the machine.
 * Returns undefined if each link on the path belongs to root or to the owner of its target (as in proc(5), "protected_symlinks"), or if
 * this user isn't root.
 */
async function findForeignLink(path: string, target: string): Promise<string | undefined> {
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
 * Copies a file's ACLs, extended attributes and security context, but not its content, to another file. Uses `cp` from coreutils, because
 * Node has no calls for this. Returns the reason if this machine can't do it; undefined on success.
 *
 * @throws when `cp` could not run this time, so that the file isn't replaced without its attributes.
 */
async function copyAttributes(from: string, to: string): Promise<string | undefined> {
  const copied = await runProcess({
    command: ["cp", "--preserve=all", "--no-preserve=timestamps,ownership", "--attributes-only", "--", from, to],
    directory: dirname(to),
    timeoutMs: 10_000,
    outputLimitBytes: 4_096,
    signal: new AbortController().signal,
  });
  if (copied.ok) return undefined;
  if (copied.reason === "NotFound" || copied.exitStatus !== undefined) return copied.message;
  throw new Error(copied.message);
}
