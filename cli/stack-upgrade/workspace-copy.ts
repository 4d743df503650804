import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { syncDirectory } from "#daemon/files/atomic-file.ts";
import { canClone } from "#daemon/files/clone.ts";
import { hasRoomFor, readDiskSpace } from "#daemon/files/disk-space.ts";
import { syncTree } from "#daemon/files/sync-tree.ts";
import { copyTree, isThere, makeMark, measureTree, listNames, readIfThere } from "./workspace-files.ts";

/**
 * Copies and restores a node's data on its volume; runs in a separate container that mounts the volume. Imports little more than Node's own
 * modules, for a fast start.
 *
 * A copy is kept on the same volume, in a directory that neither the node nor the sidecar sees: only within the volume can files be cloned,
 * and restored by renaming. The copied directories themselves are never renamed: other engine volumes are views of them, and would still
 * show the old directories.
 */

/** Directories of a volume to copy: the chain's data, and node.conf. */
const kept = ["data", "conf"] as const;

const workDirectory = ".gatehouse-upgrade";

/** Content of a volume. */
export type WorkspaceCheck = Readonly<{
  bytes: number;
  freeBytes: number;
  /** Whether its file system supports clones. */
  clones: boolean;
  /** Ids of earlier upgrades that left copies or set-aside data. */
  leftovers: readonly string[];
  /** Leftovers that include a copy; as far as can be seen here, their upgrades have not finished. */
  copies: readonly string[];
  /** node.conf in base64; absent if there is none. */
  conf?: string | undefined;
}>;

/** Measures the data to copy and the free space, and lists leftovers. Leaves no changes. */
export async function checkWorkspace(volume: string): Promise<WorkspaceCheck> {
  const bytes = await measureKept(volume);
  const { freeBytes } = await readDiskSpace(volume);
  const conf = await readIfThere(join(volume, "conf/node.conf"));
  const leftovers = await listNames(join(volume, workDirectory));
  const copies: string[] = [];
  for (const id of leftovers) if (await isThere(locatePlaces(volume, id).copy)) copies.push(id);
  return {
    bytes,
    freeBytes,
    clones: await canClone(volume),
    leftovers,
    copies,
    ...(conf === undefined ? {} : { conf: conf.toString("base64") }),
  };
}

/** Copies the directories of a stopped node; restarts a half-finished copy, and removes a failed one. */
export async function copyWorkspace(volume: string, id: string): Promise<void> {
  const { work, done } = locatePlaces(volume, id);
  if (await isThere(done.copied)) return;
  try {
    await copyKept(volume, volume, id);
  } catch (error) {
    // The node is started again and needs the space.
    await rm(work, { recursive: true, force: true });
    throw error;
  }
}

async function copyKept(from: string, volume: string, id: string): Promise<void> {
  const { copy, done } = locatePlaces(volume, id);
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy, { recursive: true, mode: 0o700 });
  for (const name of kept) {
    if (await isThere(join(from, name))) await copyTree(join(from, name), join(copy, name));
  }
  await syncDirectory(copy);
  await makeMark(done.copied);
  await syncDirectory(join(volume, workDirectory));
  await syncDirectory(volume);
}

/** Flushes the data of a stopped node to disk, so that a snapshot includes it. */
export async function flushWorkspace(volume: string): Promise<void> {
  for (const name of kept) if (await isThere(join(volume, name))) await syncTree(join(volume, name));
  await syncDirectory(volume);
}

/**
 * Restores the data from another volume, which holds a snapshot of this one, and sets the current data aside. Without space for both,
 * deletes the current data first, because the snapshot remains. Resumes after a kill.
 */
export async function restoreWorkspace(volume: string, id: string, snapshot: string): Promise<void> {
  const { copy, done } = locatePlaces(volume, id);
  if (!(await isThere(done.restored)) && !(await isThere(done.copied))) {
    await rm(copy, { recursive: true, force: true });
    const bytes = await measureKept(snapshot);
    if (bytes === 0) throw new Error("the snapshot holds no data of a node");
    const { freeBytes } = await readDiskSpace(volume);
    if (!hasRoomFor({ bytes, freeBytes })) {
      for (const name of kept) await clearDirectory(join(volume, name));
    }
    await copyKept(snapshot, volume, id);
  }
  await putWorkspaceBack(volume, id);
}

/**
 * Restores the copy and sets the current data aside. Resumes after a kill: until all data is set aside, a directory's entries belong to the
 * new version; after that, they belong to the copy.
 */
export async function putWorkspaceBack(volume: string, id: string): Promise<void> {
  const { copy, aside, done } = locatePlaces(volume, id);
  if (await isThere(done.restored)) return;
  if (!(await isThere(done.copied))) throw new Error(`there is no whole copy ${id} on the volume`);
  if (!(await isThere(done.emptied))) {
    for (const name of kept) await renameEntries(join(volume, name), join(aside, name), join(aside, name));
    await makeMark(done.emptied);
  }
  for (const name of kept) await renameEntries(join(copy, name), join(volume, name), join(aside, name));
  await makeMark(done.restored);
}

/** Removes the copy and the marks of a finished upgrade, but not the data of a failed version. */
export async function removeCopy(volume: string, id: string): Promise<void> {
  const { work, copy, aside, done } = locatePlaces(volume, id);
  await rm(copy, { recursive: true, force: true });
  for (const path of Object.values(done)) await rm(path, { force: true });
  if (!(await isThere(aside))) await rm(work, { recursive: true, force: true });
}

/** Removes everything that an upgrade left, including the data of a failed version. */
export async function discardWork(volume: string, id: string): Promise<void> {
  await rm(locatePlaces(volume, id).work, { recursive: true, force: true });
}

function locatePlaces(volume: string, id: string) {
  const work = join(volume, workDirectory, id);
  const done = { copied: join(work, "copied"), emptied: join(work, "emptied"), restored: join(work, "restored") };
  return { work, copy: join(work, "copy"), aside: join(work, "aside"), done };
}

/** Moves the entries of one directory into another on the same file system; resumes after a kill. Sets aside entries that a node has created there since. */
async function renameEntries(from: string, to: string, aside: string): Promise<void> {
  const names = await listNames(from);
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

async function measureKept(volume: string): Promise<number> {
  let bytes = 0;
  for (const name of kept) bytes += await measureTree(join(volume, name));
  return bytes;
}

async function clearDirectory(directory: string): Promise<void> {
  const names = await listNames(directory);
  if (names.length === 0) return;
  for (const name of names) await rm(join(directory, name), { recursive: true, force: true });
  await syncDirectory(directory);
}
