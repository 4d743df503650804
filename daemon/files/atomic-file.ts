import { chmod, chown, open, readdir, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";
import { chmodSync, statSync } from "node:fs";
import { skipMissing } from "../skip-missing.ts";

export type ReplaceFileOptions = Readonly<{
  /** Mode of a file that was not there before; an existing file keeps its own. Default 0600. */
  mode?: number;
  /** Copies what else belongs to an existing file to its replacement, besides mode and owner; throws to call it off. */
  copyAttributes?: (from: string, to: string) => Promise<void>;
  /** Runs when the new content is safely on disk next to the old one, right before the rename; throws to call it off. */
  beforeRename?: () => Promise<void>;
}>;

/**
 * Replaces a file so that a reader, or a machine that loses power at any instant, finds the old content or the new one and
 * never a part: temporary file in the same directory, fsync, same mode and owner, rename, fsync of the directory.
 *
 * @throws the file system's own error (`ENOSPC`, `EROFS`, …); the temporary file is removed then.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  options: ReplaceFileOptions = {},
): Promise<void> {
  const before = await readOwnership(path);
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await using file = await open(temporary, "wx", before === undefined ? (options.mode ?? 0o600) : 0o600);
    await file.writeFile(content);
    if (before !== undefined) {
      await options.copyAttributes?.(path, temporary);
      await copyOwnership(file, temporary, before);
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
 * Removes what killed calls of {@link replaceFile} left in a directory, of the files whose names `isOurs` knows. Only for those
 * files' one writer: another's replacement under way would lose its file.
 */
export async function removeTemporaries(directory: string, isOurs: (name: string) => boolean): Promise<void> {
  for (const name of await listNames(directory)) {
    const replaced = name.replace(temporaryEnd, "");
    if (replaced !== name && isOurs(replaced)) await rm(join(directory, name), { force: true });
  }
}

/** A UUID and the suffix, as {@link replaceFile} makes them. */
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

/** Waits until the names in a directory are on the disk: what was made, renamed or removed there (fsync(2), Notes). */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

/**
 * Leaves a file of this user's to its owner alone (0600), also one that an earlier version made for everybody. Another user's file, which
 * may not be changed, and what is not a file stay as they are.
 */
export function keepPrivate(path: string): void {
  const stats = statSync(path);
  if (stats.isFile() && (stats.mode & 0o077) !== 0 && stats.uid === process.geteuid?.()) chmodSync(path, 0o600);
}
