import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { syncDirectory } from "#daemon/files/atomic-file.ts";
import { canClone } from "#daemon/files/clone.ts";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import { entryExists } from "#daemon/files/entry-exists.ts";
import { syncTree } from "#daemon/files/sync-tree.ts";
import { copyTree, measureTree, listNames, readIfExists } from "./workspace-files.ts";
import type { VolumeReport } from "./workspace-report.ts";

/**
 * Copies and restores a node's data on its volume; runs in a separate container that mounts the volume. Imports little more than Node's own
 * modules, for a fast start.
 *
 * A copy is kept on the same volume, in a directory that neither the node nor the sidecar sees: only within the volume can files be cloned,
 * and restored by renaming. The copied directories themselves are never renamed: other engine volumes are views of them, and would still
 * show the old directories.
 */

const kept = ["data", "conf"] as const;

const workDirectory = ".gatehouse-upgrade";

/** Measures the data to copy and the free space, and lists leftovers. Leaves no changes. */
export async function checkWorkspace(volume: string): Promise<VolumeReport> {
  let bytes = 0;
  for (const name of kept) bytes += await measureTree(join(volume, name));
  const { freeBytes } = await readDiskSpace(volume);
  const conf = await readIfExists(join(volume, "conf/node.conf"));
  const leftovers = await listNames(join(volume, workDirectory));
  const copies: string[] = [];
  for (const id of leftovers) {
    const { copy, restoringPath, restored } = locatePaths(volume, id);
    for (const path of [copy, restoringPath, restored]) if (await entryExists(path)) copies.push(id);
  }
  // If nothing can be written there, the copy fails too, and reports the problem itself.
  const clones = await canClone(volume).catch(() => false);
  return { bytes, freeBytes, clones, leftovers, copies, conf: conf?.toString("base64") };
}

/** Copies the directories of a stopped node; restarts a half-finished copy, and removes a failed one. */
export async function copyWorkspace(volume: string, id: string): Promise<void> {
  const { work, part, copy } = locatePaths(volume, id);
  if (await entryExists(copy)) return;
  try {
    await rm(part, { recursive: true, force: true });
    await mkdir(part, { recursive: true, mode: 0o700 });
    for (const name of kept) {
      if (await entryExists(join(volume, name))) await copyTree(join(volume, name), join(part, name));
    }
    await syncDirectory(part);
    await rename(part, copy);
    for (const directory of [work, join(volume, workDirectory), volume]) await syncDirectory(directory);
  } catch (error) {
    // The node is started again and needs the space.
    await rm(work, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Restores the copy and sets the current data aside. Resumes after a kill: while the copy is called `copy`, a directory's entries belong to
 * the new version, and once it is called `restoring`, to the copy.
 */
export async function rollBackWorkspace(volume: string, id: string): Promise<void> {
  const { work, copy, restoringPath, restored, aside } = locatePaths(volume, id);
  if (await entryExists(restored)) return;
  if (!(await entryExists(restoringPath))) {
    if (!(await entryExists(copy))) throw new Error(`there is no complete copy ${id} on the volume`);
    for (const name of kept) await renameEntries(join(volume, name), join(aside, name), join(aside, name));
    await rename(copy, restoringPath);
    await syncDirectory(work);
  }
  for (const name of kept) await renameEntries(join(restoringPath, name), join(volume, name), join(aside, name));
  await rename(restoringPath, restored);
  await syncDirectory(work);
}

/** Removes the copy of a finished upgrade, but not the data of a failed version. */
export async function removeCopy(volume: string, id: string): Promise<void> {
  const { work, part, copy, restoringPath, restored, aside } = locatePaths(volume, id);
  for (const path of [part, copy, restoringPath, restored]) await rm(path, { recursive: true, force: true });
  if (!(await entryExists(aside))) await rm(work, { recursive: true, force: true });
}

/** Removes everything that an upgrade left, including the data of a failed version. */
export async function discardWork(volume: string, id: string): Promise<void> {
  await rm(locatePaths(volume, id).work, { recursive: true, force: true });
}

/** Flushes the data of a stopped node to disk, so that a snapshot includes it. */
export async function flushWorkspace(volume: string): Promise<void> {
  for (const name of kept) if (await entryExists(join(volume, name))) await syncTree(join(volume, name));
  await syncDirectory(volume);
}

/** Replaces the data with that of another volume, which holds a snapshot of this one. Starts over after a kill. */
export async function restoreWorkspace(volume: string, snapshot: string): Promise<void> {
  if ((await listNames(join(snapshot, kept[0]))).length === 0) throw new Error("the snapshot contains no node data");
  for (const name of kept) {
    const directory = join(volume, name);
    for (const entry of await listNames(directory)) await rm(join(directory, entry), { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    for (const entry of await listNames(join(snapshot, name))) {
      await copyTree(join(snapshot, name, entry), join(directory, entry));
    }
    await syncDirectory(directory);
  }
  await syncDirectory(volume);
}

/** Lists the paths that an upgrade uses on a volume. The name of its copy shows the upgrade's progress. */
function locatePaths(volume: string, id: string) {
  const work = join(volume, workDirectory, id);
  const [part, copy, restoringPath] = [join(work, "part"), join(work, "copy"), join(work, "restoring")];
  return { work, part, copy, restoringPath, restored: join(work, "restored"), aside: join(work, "aside") };
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
  if (!(await entryExists(path))) return;
  await mkdir(aside, { recursive: true, mode: 0o700 });
  await rename(path, join(aside, `${basename(path)}.${randomUUID()}`));
  await syncDirectory(aside);
}
