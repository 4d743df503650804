import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { chmod, chown, copyFile, lstat, mkdir, open, opendir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { syncDirectory } from "#daemon/files/atomic-file.ts";
import { entryExists } from "#daemon/files/entry-exists.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import type { ReleaseFile, UpgradeRecord } from "../state/upgrade-record.ts";

/** Max number of files in a release, and their max total size in bytes. */
const filesMax = 1_000;
const bytesMax = 8 * 1024 ** 3;

const temporarySuffix = ".gatehouse-new";

/** Lists a release's programs, sorted by name, without the configuration file, which is an example. */
export async function listRelease(source: string, configName = "node.conf"): Promise<readonly ReleaseFile[]> {
  const files: ReleaseFile[] = [];
  const names: string[] = [];
  let bytes = 0;
  try {
    for await (const entry of await opendir(source, { recursive: true })) {
      const path = join(entry.parentPath, entry.name);
      const name = relative(source, path);
      if (name === configName || entry.isDirectory()) continue;
      if (!entry.isFile()) {
        throw new UpgradeError(`${path} is not a regular file; a release contains only files and directories`);
      }
      bytes += (await lstat(path)).size;
      if (names.length >= filesMax || bytes > bytesMax) {
        throw new UpgradeError(
          `${source} has more than ${filesMax} files or 8 GiB; specify the directory of the binaries`,
        );
      }
      names.push(name);
    }
    // Done only now, so that a directory that is too large is rejected quickly.
    for (const name of names.toSorted()) files.push({ name, sha256: await hashFile(join(source, name)) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof UpgradeError || code === undefined) throw error;
    throw new UpgradeError(`${source} can't be read (${code}); specify the directory of the new binaries`);
  }
  if (files.length === 0) {
    throw new UpgradeError(`${source} contains no binary; specify the directory of the new binaries`);
  }
  return files;
}

export async function hashFiles(files: readonly ReleaseFile[], directory: string): Promise<readonly ReleaseFile[]> {
  const found: ReleaseFile[] = [];
  for (const { name } of files) {
    const path = join(directory, name);
    if (await entryExists(path)) found.push({ name, sha256: await hashFile(path) });
  }
  return found;
}

/** Finds a file that is missing from a directory or has different content there; undefined if there is none. */
export async function findOtherFile(files: readonly ReleaseFile[], directory: string): Promise<string | undefined> {
  const found = new Map((await hashFiles(files, directory)).map(({ name, sha256 }) => [name, sha256]));
  return files.find(({ name, sha256 }) => found.get(name) !== sha256)?.name;
}

export function locateKeptPrograms({ directory }: Pick<UpgradeRecord, "directory">): string {
  return join(directory, "programs");
}

type ProgramChange = Pick<UpgradeRecord, "files" | "source" | "binDirectory" | "directory">;

/** Saves the programs that are about to be replaced. The directory gets its final name only once all of them are on disk. */
export async function keepPrograms({ files, binDirectory, directory }: ProgramChange): Promise<void> {
  const kept = locateKeptPrograms({ directory });
  if (await entryExists(kept)) return;
  const part = `${kept}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true, mode: 0o700 });
  for (const { name } of files) {
    const path = join(binDirectory, name);
    if (await entryExists(path)) await putFile(path, join(part, name));
  }
  await rename(part, kept);
  await syncDirectory(dirname(kept));
}

/** @throws {UpgradeError} when a program isn't the approved one, in which case that program isn't installed. */
export async function installPrograms({ files, source, binDirectory }: ProgramChange): Promise<void> {
  for (const { name, sha256 } of files) await putFile(join(source, name), join(binDirectory, name), sha256);
}

/**
 * Restores the saved programs, and removes those that didn't exist before. Does nothing if none were saved, because then none were
 * replaced.
 */
export async function restorePrograms({ files, binDirectory, directory }: ProgramChange): Promise<void> {
  const kept = locateKeptPrograms({ directory });
  if (!(await entryExists(kept))) return;
  for (const { name } of files) {
    const path = join(binDirectory, name);
    await rm(`${path}${temporarySuffix}`, { force: true });
    if (await entryExists(join(kept, name))) await putFile(join(kept, name), path);
    else await rm(path, { force: true });
  }
}

/** Replaces a file with a copy of another in one rename, preserving the owner. If a hash is given, replaces the file only if the copy has that hash. */
async function putFile(from: string, to: string, sha256?: string): Promise<void> {
  const temporary = `${to}${temporarySuffix}`;
  const { mode, uid, gid } = await stat(from);
  const previousStat = (await entryExists(to)) ? await stat(to) : undefined;
  const owner = previousStat ?? { uid, gid };
  await mkdir(dirname(to), { recursive: true });
  await rm(temporary, { force: true });
  await copyFile(from, temporary, constants.COPYFILE_FICLONE);
  if (sha256 !== undefined && (await hashFile(temporary)) !== sha256) {
    await rm(temporary, { force: true });
    throw new UpgradeError(`${from} has changed since the plan was shown; request the upgrade again`);
  }
  const made = await stat(temporary);
  if (made.uid !== owner.uid || made.gid !== owner.gid) await chown(temporary, owner.uid, owner.gid);
  await chmod(temporary, mode & 0o7777);
  await using file = await open(temporary, "r");
  await file.sync();
  await rename(temporary, to);
  await syncDirectory(dirname(to));
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}
