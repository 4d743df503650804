import { open, opendir } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory } from "./atomic-file.ts";

/** Files synced concurrently; the disk orders their writes. */
const concurrentFiles = 16;

/**
 * Waits until every regular file and every directory entry in a tree is on disk (fsync(2)), from the leaves to the root, so that a later
 * power loss loses nothing.
 *
 * @throws the file system's own error, or the signal's reason.
 */
export async function syncTree(directory: string, signal?: AbortSignal): Promise<void> {
  const files: string[] = [];
  for await (const entry of await opendir(directory)) {
    signal?.throwIfAborted();
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await syncTree(path, signal);
    // Other entries have no content; a socket can't be opened, and opening a named pipe blocks.
    else if (entry.isFile()) files.push(path);
    if (files.length >= concurrentFiles) await Promise.all(files.splice(0).map(syncFile));
  }
  await Promise.all(files.map(syncFile));
  await syncDirectory(directory);
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}
