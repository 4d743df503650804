import { chmod, chown, open, readdir, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";
import { chmodSync, statSync } from "node:fs";
import { skipMissing } from "../skip-missing.ts";

export type ReplaceFileOptions = Readonly<{
  /** Mode of a new file; an existing file keeps its own. Default 0600. `"as-directory"`: as its directory, not writable by others. */
  mode?: number | "as-directory";
  /** Copies an existing file's attributes, other than mode and owner, to its replacement; throws to cancel the replacement. */
  copyAttributes?: (from: string, to: string) => Promise<void>;
  /** Runs when the new content is safely on disk next to the old one, right before the rename; throws to cancel the replacement. */
  beforeRename?: () => Promise<void>;
}>;

/**
 * Replaces a file atomically: a reader, or a machine that loses power at any instant, sees either the complete old content or the complete
 * new content. Writes a temporary file in the same directory with the same mode and owner, then fsyncs it, renames it, and fsyncs the
 * directory.
 *
 * @throws the file system's own error (`ENOSPC`, `EROFS`, …), after removing the temporary file.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  options: ReplaceFileOptions = {},
): Promise<void> {
  const previousOwnership = await readOwnership(path);
  const { mode = 0o600 } = options;
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await using file = await open(
      temporary,
      "wx",
      previousOwnership === undefined && mode !== "as-directory" ? mode : 0o600,
    );
    await file.writeFile(content);
    if (previousOwnership !== undefined) {
      await options.copyAttributes?.(path, temporary);
      await copyOwnership(file, temporary, previousOwnership);
    } else if (mode === "as-directory") {
      const directory = await stat(dirname(path));
      // Only root can give a file to another user.
      const owner = process.geteuid?.() === 0 ? directory : await file.stat();
      await copyOwnership(file, temporary, { uid: owner.uid, gid: owner.gid, mode: directory.mode & 0o644 });
    }
    await file.sync();
    await options.beforeRename?.();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

/**
 * Removes temporary files that killed processes left in a directory ({@link replaceFile}), for target names that `isOurs` accepts. Only
 * safe for the sole writer of those files: if another writer were replacing a file, its temporary file would be removed.
 */
export async function removeTemporaryFiles(directory: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await listNames(directory)) {
    const targetName = name.replace(temporaryEnd, "");
    if (targetName !== name && isOurs(targetName)) await rm(join(directory, name), { force: true });
  }
}

/** A UUID and the suffix, as appended by {@link replaceFile}. */
const temporaryEnd = /\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

async function listNames(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(skipMissing)) ?? [];
}

type Ownership = Readonly<{ mode: number; uid: number; gid: number }>;

async function readOwnership(path: string): Promise<Ownership | undefined> {
  return await stat(path).catch(skipMissing);
}

async function copyOwnership(file: FileHandle, path: string, { mode, uid, gid }: Ownership): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await chown(path, uid, gid);
  await chmod(path, mode & 0o7777);
}

/** Waits until a directory's entries (created, renamed or removed) are on disk (fsync(2), Notes). */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

/**
 * Restricts a file owned by this user to its owner (0600), including files that earlier versions created world-readable. Does not change
 * anything that isn't a file, or other users' files, whose mode this process can't change.
 */
export function restrictToOwner(path: string): void {
  const stats = statSync(path);
  if (stats.isFile() && (stats.mode & 0o077) !== 0 && stats.uid === process.geteuid?.()) chmodSync(path, 0o600);
}
