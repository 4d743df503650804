import { mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeTemporaryFiles, replaceFile } from "#daemon/files/atomic-file.ts";
import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import { skipMissing } from "#daemon/skip-missing.ts";
import { hashContent } from "./config-file.ts";

/** Name under which content is stored: the last content with which the node was healthy, or the last content that matched the desired configuration. */
type ConfigSlot = "healthy" | "last-good";

export type ConfigVersions = ReturnType<typeof createConfigVersions>;

const versionsKept = 5;

/** Stores versions in a directory that only its owner can read, because the versions are as sensitive as the configuration. */
export function createConfigVersions(directory: string) {
  const versions = join(directory, "versions");
  const buildSlotPath = (slot: ConfigSlot) => join(directory, `${slot}.conf`);
  return {
    /** Saves content unless it is already the newest version; retains the newest five. Returns the path of the saved file. */
    keep: async (bytes: Uint8Array): Promise<string> => {
      await mkdir(versions, { recursive: true, mode: 0o700 });
      const names = await listVersions(versions);
      const hash = hashContent(bytes).slice(0, 12);
      const newest = names.at(-1);
      if (newest?.endsWith(`-${hash}.conf`)) return join(versions, newest);
      const next = newest === undefined ? 1 : Number(newest.slice(0, 8)) + 1;
      const path = join(versions, `${String(next).padStart(8, "0")}-${hash}.conf`);
      await replaceFile(path, bytes, { mode: 0o600 });
      for (const name of names.slice(0, Math.max(0, names.length + 1 - versionsKept))) await rm(join(versions, name));
      return path;
    },
    newest: async () => {
      const name = (await listVersions(versions)).at(-1);
      return name === undefined ? undefined : readKept(join(versions, name));
    },
    remember: async (slot: ConfigSlot, bytes: Uint8Array): Promise<void> => {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await replaceFile(buildSlotPath(slot), bytes, { mode: 0o600 });
    },
    tidy: async () => {
      for (const place of [directory, versions]) await removeTemporaryFiles(place, (name) => name.endsWith(".conf"));
    },
    recall: (slot: ConfigSlot) => readKept(buildSlotPath(slot)).catch(skipMissing),
  };
}

async function listVersions(versions: string): Promise<readonly string[]> {
  const names = (await readdir(versions).catch(skipMissing)) ?? [];
  return names.filter((name) => /^\d{8}-[0-9a-f]{12}\.conf$/.test(name)).sort();
}

/** Reads saved content through an open file handle: a hung `readFile` call is not visible at exit (`daemon/process/end-process.ts`). */
async function readKept(path: string): Promise<Uint8Array> {
  await using file = await open(path);
  return await file.readFile();
}

/** Limits each call by a deadline: if the state's file system hangs, it throws `HangingFileSystem`, and the caller goes on without its copies. */
export function limitVersions(versions: ConfigVersions, directory: string, fileDeadline: FileDeadline): ConfigVersions {
  const keeping = `backing up node.conf to ${directory}`;
  const reading = `reading a backup of node.conf in ${directory}`;
  return {
    keep: (bytes) => fileDeadline.call(keeping, () => versions.keep(bytes)),
    newest: () => fileDeadline.call(reading, versions.newest),
    remember: (slot, bytes) => fileDeadline.call(keeping, () => versions.remember(slot, bytes)),
    recall: (slot) => fileDeadline.call(reading, () => versions.recall(slot)),
    tidy: () => fileDeadline.call(`tidying ${directory}`, versions.tidy),
  };
}
