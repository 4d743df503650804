import { mkdir, readdir, readlink, realpath, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { replaceFile, syncDirectory } from "#daemon/files/atomic-file.ts";
import { readRegularFile } from "#daemon/files/regular-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import type { NodeFamily } from "#node/families.ts";
import { skipMissing } from "#daemon/skip-missing.ts";
import { listPids } from "#daemon/process/running-process.ts";

/** Next to the data directory, on the same disk: one rename makes the unpacked tree the data directory. */
export type RestoreLocation = Readonly<{
  dataPath: string;
  /** Directory that the snapshot fills: the data directory, or the subdirectory of it that is the archive's only top-level directory. */
  target: string;
  part?: string | undefined;
  archive: string;
  /** Source of the download. A partial archive is never resumed from another source. */
  origin: string;
  tree: string;
  /** Written last; contains the checksum and time of the restore. */
  marker: string;
}>;

export function locateRestore(dataPath: string, part?: string): RestoreLocation {
  const root = resolve(dataPath);
  const directory = join(dirname(root), ".gatehouse-restore");
  const inside = (name: string) => join(directory, name);
  return {
    dataPath: root,
    target: part === undefined ? root : join(root, part),
    part,
    archive: inside("archive.part"),
    origin: inside("archive.json"),
    tree: inside("tree"),
    marker: inside("restored.json"),
  };
}

const markerSchema = z.object({ sha256: z.string(), at: z.string() });

/** Reads the marker of a finished restore; returns undefined if there is none. */
export async function readMarker({ marker }: RestoreLocation): Promise<z.output<typeof markerSchema> | undefined> {
  return markerSchema.safeParse(await readJson(marker)).data;
}

/** Max size of a JSON file, in bytes; a marker contains only a checksum and a time. */
const jsonBytes = 65_536;

/** Reads the value in a JSON file; returns undefined if the file is absent or incomplete. */
export async function readJson(path: string): Promise<unknown> {
  const file = await readRegularFile(path, jsonBytes).catch(skipMissing);
  return file && parseJson(Buffer.from(file.bytes).toString("utf8"));
}

/** Checks whether a directory is empty or absent. */
export async function isEmpty(path: string): Promise<boolean> {
  return ((await readdir(path).catch(skipMissing)) ?? []).length === 0;
}

/** Creates the working directory with an empty tree: the files unpacked by a killed attempt are not trusted. */
export async function clearTree({ tree }: Pick<RestoreLocation, "tree">): Promise<void> {
  await rm(tree, { recursive: true, force: true });
  await mkdir(tree, { recursive: true });
}

/** The rename is on disk before the marker is written. Returns where the existing data was moved. */
export async function moveTreeIntoPlace({ tree, target, part }: RestoreLocation): Promise<string | undefined> {
  const replacedPath = (await isEmpty(target)) ? undefined : `${dirname(tree)}/replaced-${Date.now()}`;
  await mkdir(dirname(target), { recursive: true });
  if (replacedPath === undefined) await rmdir(target).catch(skipMissing);
  else await rename(target, replacedPath);
  await rename(part === undefined ? tree : join(tree, part), target);
  await syncDirectory(dirname(target));
  await syncDirectory(dirname(tree));
  return replacedPath;
}

/** Rejects, before hours of downloading, a restore that would fail at the end. */
export async function requireReplaceable(
  { dataPath, target, part }: RestoreLocation,
  { programs, image: { genesisMark, configArgument } }: NodeFamily,
  replace: boolean,
): Promise<void> {
  if (part === undefined) return;
  if (genesisMark !== undefined && (await isEmpty(join(dataPath, genesisMark)))) {
    throw new RestoreError(
      `${join(dataPath, genesisMark)} is missing or empty: run genesis before restoring the snapshot. Start the node's container once (it runs genesis), or run in the ` +
        `directory with its binaries: ./${programs.tool} genesis -c ${configArgument} -g ../genesis.conf; then stop the node and rerun this command`,
    );
  }
  if (!replace && !(await isEmpty(target))) {
    throw new RestoreError(
      `${target} contains data; to replace it with the snapshot, set GATEHOUSE_RESTORE_REPLACE=true: the old data is moved aside`,
    );
  }
  const pid = await findUser(dataPath);
  if (pid !== undefined)
    throw new RestoreError(`process ${pid} uses ${dataPath}; stop the node and rerun this command`);
}

/** Finds a process that has a file open in a directory, among the processes visible to this one (Linux, same user). */
async function findUser(directory: string): Promise<number | undefined> {
  const real = await realpath(directory);
  for (const pid of await listPids()) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const path = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      if (path.startsWith(`${real}/`)) return pid;
    }
  }
  return undefined;
}

export async function finishRestore(paths: RestoreLocation, sha256: string): Promise<void> {
  await replaceFile(paths.marker, `${JSON.stringify({ sha256, at: new Date().toISOString() })}\n`, { mode: 0o644 });
  await deleteArchive(paths);
}

export async function countDownloadedBytes({ archive }: RestoreLocation): Promise<number> {
  return (await stat(archive).catch(skipMissing))?.size ?? 0;
}

export async function deleteArchive({ archive, origin }: RestoreLocation): Promise<void> {
  for (const path of [archive, origin]) await rm(path, { force: true });
}

/** A failed restore; `message` reports what was found, where, and what to do about it. */
export class RestoreError extends Error {
  override readonly name = "RestoreError";
  readonly code = "restore_failed";
  readonly retryable: boolean;

  constructor(message: string, { retryable = false, cause }: Readonly<{ retryable?: boolean; cause?: unknown }> = {}) {
    super(message, { cause });
    this.retryable = retryable;
  }
}
