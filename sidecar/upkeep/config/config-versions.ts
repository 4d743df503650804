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

/**
 * Stores versions in a directory that only its owner can read, because the versions are as sensitive as the configuration. If the directory's file
 * system hangs, a call throws `HangingFileSystem` at its deadline, and the caller continues without copies.
 */
export function createConfigVersions(
  directory: string,
  deadline: Pick<FileDeadline, "call"> = { call: (_, run) => run() },
) {
  const backupStep = `backing up node.conf to ${directory}`;
  const readStep = `reading a backup of node.conf in ${directory}`;
  const versions = join(directory, "versions");
  const buildSlotPath = (slot: ConfigSlot) => join(directory, `${slot}.conf`);
  const keep = async (bytes: Uint8Array): Promise<string> => {
    await mkdir(versions, { recursive: true, mode: 0o700 });
    const names = await listVersions(versions);
    const hash = hashContent(bytes).slice(0, 12);
    const newestName = names.at(-1);
    if (newestName?.endsWith(`-${hash}.conf`)) return join(versions, newestName);
    const next = newestName === undefined ? 1 : Number(newestName.slice(0, 8)) + 1;
    const path = join(versions, `${String(next).padStart(8, "0")}-${hash}.conf`);
    await replaceFile(path, bytes, { mode: 0o600 });
    for (const name of names.slice(0, Math.max(0, names.length + 1 - versionsKept))) await rm(join(versions, name));
    return path;
  };
  return {
    /** Saves content unless it is already the newest version; retains the newest five. Returns the path of the saved file. */
    keep: (bytes: Uint8Array) => deadline.call(backupStep, () => keep(bytes)),
    newest: () =>
      deadline.call(readStep, async () => {
        const name = (await listVersions(versions)).at(-1);
        return name === undefined ? undefined : readBackup(join(versions, name));
      }),
    remember: (slot: ConfigSlot, bytes: Uint8Array) =>
      deadline.call(backupStep, async () => {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        await replaceFile(buildSlotPath(slot), bytes, { mode: 0o600 });
      }),
    tidy: () =>
      deadline.call(`tidying ${directory}`, async () => {
        for (const location of [directory, versions])
          await removeTemporaryFiles(location, (name) => name.endsWith(".conf"));
      }),
    recall: (slot: ConfigSlot) => deadline.call(readStep, () => readBackup(buildSlotPath(slot)).catch(skipMissing)),
  };
}

async function listVersions(versions: string): Promise<readonly string[]> {
  const names = (await readdir(versions).catch(skipMissing)) ?? [];
  return names.filter((name) => /^\d{8}-[0-9a-f]{12}\.conf$/.test(name)).sort();
}

/** Reads saved content through an open file handle: a hung `readFile` call is not visible at exit (`daemon/process/end-process.ts`). */
async function readBackup(path: string): Promise<Uint8Array> {
  await using file = await open(path);
  return await file.readFile();
}
