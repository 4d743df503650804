import { randomUUID } from "node:crypto";
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
  rename,
  rm,
  symlink,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { hasRoomFor } from "#daemon/files/copy-room.ts";
import { readDiskSpace } from "#daemon/files/disk-space.ts";

/**
 * Copies what a node keeps on its volume, and puts it back; runs in a separate container, over the volume. Imports little more
 * than Node's own modules, so that it starts at once.
 *
 * A copy stands on the same volume, in a directory that neither node nor sidecar sees: there alone can files be cloned, and be put back by renaming. The directories
 * themselves are never renamed: other volumes of the engine are views of them, and would go on showing the old ones.
 */

/** The directories of a volume that are copied: the chain's data, and node.conf. */
const kept = ["data", "conf"] as const;

const workDirectory = ".gatehouse-upgrade";

/** What was found on a volume. */
export type WorkspaceLook = Readonly<{
  bytes: number;
  freeBytes: number;
  /** Whether its file system clones files. */
  clones: boolean;
  /** Copies and data put aside that are there already. */
  leftovers: readonly string[];
  /** Which of them have a copy: their upgrade is not over, as far as can be seen here. */
  copies: readonly string[];
  /** node.conf in base64; absent where there is none. */
  conf?: string | undefined;
}>;

/** Measures what a copy would take, and what is there. Leaves nothing behind. */
export async function lookAtWorkspace(volume: string): Promise<WorkspaceLook> {
  let bytes = 0;
  for (const name of kept) bytes += await measureTree(join(volume, name));
  const { freeBytes } = await readDiskSpace(volume);
  const conf = await readIfThere(join(volume, "conf/node.conf"));
  const leftovers = await namesIn(join(volume, workDirectory));
  const copies: string[] = [];
  for (const id of leftovers) if (await isThere(placesOf(volume, id).copy)) copies.push(id);
  return {
    bytes,
    freeBytes,
    clones: await canClone(volume),
    leftovers,
    copies,
    ...(conf === undefined ? {} : { conf: conf.toString("base64") }),
  };
}

/** Copies the directories of a node that does not run; a copy that a kill left half made is started over, and one that fails leaves nothing. */
export async function copyWorkspace(volume: string, id: string): Promise<void> {
  const { work, copy, done } = placesOf(volume, id);
  if (await isThere(done.copied)) return;
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy, { recursive: true, mode: 0o700 });
  try {
    for (const name of kept) {
      if (await isThere(join(volume, name))) await copyTree(join(volume, name), join(copy, name));
    }
  } catch (error) {
    // The node is started again, and needs the room.
    await rm(work, { recursive: true, force: true });
    throw error;
  }
  await syncDirectory(copy);
  await mark(done.copied);
  await syncDirectory(join(volume, workDirectory));
  await syncDirectory(volume);
}

/**
 * Puts the copy in the place of what stands there, which is put aside. Goes on where a kill ended it: until all is put aside, what stands in a directory is of the
 * new version; after that, it is of the copy.
 */
export async function putWorkspaceBack(volume: string, id: string): Promise<void> {
  const { copy, aside, done } = placesOf(volume, id);
  if (await isThere(done.restored)) return;
  if (!(await isThere(done.copied))) throw new Error(`there is no whole copy ${id} on the volume`);
  if (!(await isThere(done.emptied))) {
    for (const name of kept) await moveEntries(join(volume, name), join(aside, name), join(aside, name));
    await mark(done.emptied);
  }
  for (const name of kept) await moveEntries(join(copy, name), join(volume, name), join(aside, name));
  await mark(done.restored);
}

/** Removes the copy and the marks of an upgrade that is over; what a failed version made of the data stays. */
export async function removeCopy(volume: string, id: string): Promise<void> {
  const { work, copy, aside, done } = placesOf(volume, id);
  await rm(copy, { recursive: true, force: true });
  for (const path of Object.values(done)) await rm(path, { force: true });
  if (!(await isThere(aside))) await rm(work, { recursive: true, force: true });
}

/** Removes all that an upgrade has left, what a failed version made of the data with it. */
export async function discardWork(volume: string, id: string): Promise<void> {
  await rm(placesOf(volume, id).work, { recursive: true, force: true });
}

function placesOf(volume: string, id: string) {
  const work = join(volume, workDirectory, id);
  const done = { copied: join(work, "copied"), emptied: join(work, "emptied"), restored: join(work, "restored") };
  return { work, copy: join(work, "copy"), aside: join(work, "aside"), done };
}

/** Moves what stands in one directory into another of the same file system; goes on where a kill ended it. What a node has made there since is put aside, and nothing of it lost. */
async function moveEntries(from: string, to: string, aside: string): Promise<void> {
  const names = await namesIn(from);
  if (names.length === 0) return;
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of names) {
    await putAside(join(to, name), aside);
    await rename(join(from, name), join(to, name));
  }
  await syncDirectory(to);
  await syncDirectory(from);
}

async function putAside(path: string, aside: string): Promise<void> {
  if (!(await isThere(path))) return;
  await mkdir(aside, { recursive: true, mode: 0o700 });
  await rename(path, join(aside, `${basename(path)}.${randomUUID()}`));
  await syncDirectory(aside);
}

/** With owners, modes and times; sockets and pipes hold no data. */
async function copyTree(from: string, to: string): Promise<void> {
  const stats = await lstat(from);
  if (stats.isDirectory()) {
    await mkdir(to, { mode: 0o700 });
    for (const name of await readdir(from)) await copyTree(join(from, name), join(to, name));
    await own(to, stats);
    await syncDirectory(to);
  } else if (stats.isSymbolicLink()) {
    await symlink(await readlink(from), to);
    await lchown(to, stats.uid, stats.gid);
  } else if (stats.isFile()) {
    await copyContent(from, to, stats.size);
    await own(to, stats);
    await using file = await open(to, "r");
    await file.sync();
  }
}

/** Clones a file, or copies it where that is not possible and there is room: nobody has counted on it where files are cloned. */
async function copyContent(from: string, to: string, bytes: number): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
  } catch (error) {
    if (!isNoClone(error)) throw error;
    const { freeBytes } = await readDiskSpace(dirname(to));
    if (!hasRoomFor({ bytes, freeBytes })) {
      throw new Error(`${from} can't be cloned, and of the ${bytes} bytes that it takes ${freeBytes} are free`, {
        cause: error,
      });
    }
    await copyFile(from, to, constants.COPYFILE_EXCL);
  }
}

async function own(path: string, { uid, gid, mode, atime, mtime }: Stats): Promise<void> {
  await lchown(path, uid, gid);
  await chmod(path, mode & 0o7777);
  await lutimes(path, atime, mtime);
}

async function measureTree(path: string): Promise<number> {
  const stats = await lstat(path).catch(absent);
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.isFile() ? stats.size : 0;
  let bytes = 0;
  // The node runs meanwhile, and may remove a directory.
  for (const name of await namesIn(path)) bytes += await measureTree(join(path, name));
  return bytes;
}

/** Tries it with a file, because no file system tells. */
async function canClone(volume: string): Promise<boolean> {
  const probe = join(volume, `.gatehouse-clone-${randomUUID()}`);
  try {
    await using file = await open(probe, "wx", 0o600);
    await file.writeFile("probe");
    await copyFile(probe, `${probe}.copy`, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch (error) {
    if (isNoClone(error)) return false;
    throw error;
  } finally {
    await rm(probe, { force: true });
    await rm(`${probe}.copy`, { force: true });
  }
}

/** What a file system answers that can't clone a file, or not now: ZFS does not what it has not written yet. */
const noClone: ReadonlySet<string> = new Set("ENOTSUP EOPNOTSUPP ENOSYS EXDEV EINVAL ENOTTY EAGAIN".split(" "));

function isNoClone(error: unknown): boolean {
  return noClone.has((error as NodeJS.ErrnoException).code ?? "");
}

async function mark(path: string): Promise<void> {
  await using file = await open(path, "w", 0o600);
  await file.sync();
  await syncDirectory(dirname(path));
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(absent)) !== undefined;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(absent)) ?? [];
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch(absent);
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  throw error;
}
