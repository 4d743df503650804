import { hash } from "node:crypto";
import { access, constants, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import type { NodeValues } from "#node/conf/node-values.ts";
import { isKeyMissing } from "../restart/rejected-edit.ts";
import type { NodeLocation } from "../config/node-location.ts";
import { findListeningSockets } from "../drivers/host-processes.ts";

/** Facts about this machine, other than the data itself, that may prevent the node from starting. */
export type DataLocation = Readonly<{
  dataInode?: number | undefined;
  problem?: string | undefined;
  /** Fraction of the disk that is free, as used by `DiskSpaceSufficient`. */
  freeRatio?: number | undefined;
  /** Key files that node.conf specifies but that are missing. */
  missingKeys: readonly string[];
  /** Ports in node.conf that already have a listener. */
  takenPorts: readonly string[];
}>;

/** @throws {HangingFileSystem} if the file system that holds the data or a key hangs. */
export async function checkLocation(
  dataPath: string | undefined,
  values: NodeValues,
  { dataDeadline, keyDeadline }: Pick<NodeLocation, "dataDeadline" | "keyDeadline">,
): Promise<DataLocation> {
  const keys = Object.entries(values).filter(([name]) => name.includes("secret_config"));
  const ports = Object.entries(values).filter(([name]) => name.endsWith("_port"));
  const missingKeys: string[] = [];
  for (const [, path] of keys) if (await isKeyMissing(path, keyDeadline)) missingKeys.push(path);
  const taken = await Promise.all(ports.map(async ([, port]) => ((await isTaken(Number(port))) ? [port] : [])));
  const common = { missingKeys, takenPorts: taken.flat() };
  if (dataPath === undefined) return { ...common, problem: "node.conf does not specify the data directory" };
  return { ...common, ...(await dataDeadline.call(`checking ${dataPath}`, () => checkDirectory(dataPath))) };
}

async function checkDirectory(dataPath: string): Promise<Pick<DataLocation, "dataInode" | "freeRatio" | "problem">> {
  try {
    await access(dataPath, constants.R_OK | constants.W_OK | constants.X_OK);
    const { ino } = await stat(dataPath);
    const { freeRatio } = await readDiskSpace(dataPath);
    return { dataInode: ino, freeRatio };
  } catch (error) {
    return { problem: `can't read the data directory: ${(error as Error).message}` };
  }
}

async function isTaken(port: number): Promise<boolean> {
  return Number.isInteger(port) && (await findListeningSockets(port)).size > 0;
}

/** Max number of programs to check in a bin directory. */
const programsMax = 256;

const runnable = 0o111;

/** Programs in a bin directory: their file names, and a digest of names, sizes and modification times. */
export type Programs = Readonly<{ names: readonly string[]; digest: string }>;

/** Lists the programs in the bin directory: changed or missing programs may fail to start for other reasons. Undefined if the directory can't be read. */
export async function listPrograms(binDirectory: string): Promise<Programs | undefined> {
  try {
    const names: string[] = [];
    const lines: string[] = [];
    for (const name of (await readdir(binDirectory)).toSorted().slice(0, programsMax)) {
      const found = await stat(join(binDirectory, name)).catch(() => undefined);
      if (found?.isFile() !== true || (found.mode & runnable) === 0) continue;
      names.push(name);
      lines.push(`${name} ${found.size} ${found.mtimeMs}`);
    }
    return { names, digest: hash("sha256", lines.join("\n")).slice(0, 16) };
  } catch {
    // An unknown value proves nothing; the caller that compares it reports that it is missing.
    return undefined;
  }
}
