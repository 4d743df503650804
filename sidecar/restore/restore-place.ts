import { mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { replaceFile, syncDirectory } from "#daemon/files/atomic-file.ts";
import { readRegularFile } from "#daemon/files/regular-file.ts";

/**
 * Paths of a restore: next to the data directory, on the same disk, so that the unpacked tree becomes the data directory by one
 * rename and the node never sees a part of it.
 */
export type RestorePlace = Readonly<{
  dataPath: string;
  /** Part of the archive that is downloaded. */
  archive: string;
  /** Source of the download, so that a part of one archive is never continued with another. */
  origin: string;
  /** Tree that is being unpacked. */
  tree: string;
  /** Written last: checksum and time of the restore. */
  marker: string;
}>;

/** Locates the paths of a restore into a data directory. */
export function locateRestore(dataPath: string): RestorePlace {
  const target = resolve(dataPath);
  const directory = join(dirname(target), ".gatehouse-restore");
  const inside = (name: string) => join(directory, name);
  return {
    dataPath: target,
    archive: inside("archive.part"),
    origin: inside("archive.json"),
    tree: inside("tree"),
    marker: inside("restored.json"),
  };
}

const markerSchema = z.object({ sha256: z.string(), at: z.string() });

/** Reads the marker of a finished restore; undefined without one. */
export async function readMarker({ marker }: RestorePlace): Promise<z.output<typeof markerSchema> | undefined> {
  const parsed = markerSchema.safeParse(await readJson(marker));
  return parsed.success ? parsed.data : undefined;
}

/** Largest JSON file that is read, in bytes: a marker has a checksum and a time. */
const jsonBytes = 65_536;

/** Reads a JSON file's value; undefined if it is absent or was never written to its end. */
export async function readJson(path: string): Promise<unknown> {
  try {
    const { bytes } = await readRegularFile(path, jsonBytes);
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Whether a directory holds nothing, or is not there. */
export async function isEmpty(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length === 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}

/** Makes the working directory, and an empty tree in it: what a killed attempt unpacked is not trusted. */
export async function clearTree({ tree }: Pick<RestorePlace, "tree">): Promise<void> {
  await rm(tree, { recursive: true, force: true });
  await mkdir(tree, { recursive: true });
}

/** Makes the unpacked tree the data directory, and waits until that is on the disk: the marker must not outlive a rename that was lost. */
export async function takeTree({ tree, dataPath }: RestorePlace): Promise<void> {
  await rmdir(dataPath).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await mkdir(dirname(dataPath), { recursive: true });
  await rename(tree, dataPath);
  await syncDirectory(dirname(dataPath));
  await syncDirectory(dirname(tree));
}

/** Writes the marker of a finished restore, and frees the archive's room. */
export async function finish(place: RestorePlace, sha256: string): Promise<void> {
  await replaceFile(place.marker, `${JSON.stringify({ sha256, at: new Date().toISOString() })}\n`, { mode: 0o644 });
  await rm(place.archive, { force: true });
  await rm(place.origin, { force: true });
}

/** A restore that can't be done; `message` says what was found, where, and what to do. */
export class RestoreError extends Error {
  override readonly name = "RestoreError";
  readonly code = "restore_failed";
  /** Whether trying again can help. */
  readonly retryable: boolean;

  constructor(message: string, { retryable = false, cause }: Readonly<{ retryable?: boolean; cause?: unknown }> = {}) {
    super(message, { cause });
    this.retryable = retryable;
  }
}
