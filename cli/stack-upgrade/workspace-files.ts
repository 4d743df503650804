import { constants, type Stats } from "node:fs";
import {
  chmod,
  copyFile,
  lchown,
  lstat,
  lutimes,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  symlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncDirectory } from "#daemon/files/atomic-file.ts";
import { isCloneUnsupported } from "#daemon/files/clone.ts";
import { hasSpaceFor, readDiskSpace } from "#daemon/files/disk-space.ts";
import { skipMissing } from "#daemon/skip-missing.ts";

/** Copies a tree with owners, modes and times, but without sockets and pipes, which contain no data. */
export async function copyTree(from: string, to: string): Promise<void> {
  const stats = await lstat(from);
  if (stats.isDirectory()) {
    await mkdir(to, { mode: 0o700 });
    for (const name of await readdir(from)) await copyTree(join(from, name), join(to, name));
    await setAttributes(to, stats);
    await syncDirectory(to);
  } else if (stats.isSymbolicLink()) {
    await symlink(await readlink(from), to);
    await changeOwner(to, stats.uid, stats.gid);
  } else if (stats.isFile()) {
    await copyContent(from, to, stats.size);
    await setAttributes(to, stats);
    await using file = await open(to, "r");
    await file.sync();
  }
}

/** Clones a file, or copies it if cloning fails and there is space: an upgrade that relies on clones has not checked for space. */
async function copyContent(from: string, to: string, bytes: number): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
  } catch (error) {
    if (!isCloneUnsupported(error)) throw error;
    const { freeBytes } = await readDiskSpace(dirname(to));
    if (!hasSpaceFor({ bytes, freeBytes })) {
      throw new Error(`${from} can't be cloned, and of the ${bytes} bytes that it takes ${freeBytes} are free`, {
        cause: error,
      });
    }
    await copyFile(from, to, constants.COPYFILE_EXCL);
  }
}

async function setAttributes(path: string, { uid, gid, mode, atime, mtime }: Stats): Promise<void> {
  await changeOwner(path, uid, gid);
  await chmod(path, mode & 0o7777);
  await lutimes(path, atime, mtime);
}

/** Changes the owner if running as root; other users may not. In a cluster, the node's own user copies the files and remains their owner. */
async function changeOwner(path: string, uid: number, gid: number): Promise<void> {
  if (process.getuid?.() === 0) await lchown(path, uid, gid);
}

export async function measureTree(path: string): Promise<number> {
  const stats = await lstat(path).catch(skipMissing);
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.isFile() ? stats.size : 0;
  let bytes = 0;
  // The node is running and may remove a directory during the measurement.
  for (const name of await listNames(path)) bytes += await measureTree(join(path, name));
  return bytes;
}

export async function listNames(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(skipMissing)) ?? [];
}

export async function readIfExists(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch(skipMissing);
}
