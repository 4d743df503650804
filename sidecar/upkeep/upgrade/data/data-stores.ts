import { realpath, stat, readFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { runProcess } from "#daemon/process/bounded-process.ts";
import { canClone } from "#daemon/files/clone.ts";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { dataPathKey, readNodeValues } from "#node/conf/node-values.ts";
import type { UpgradeRecord, UpgradeStore } from "../../state/upgrade-record.ts";
import { UpgradeError } from "../../../upgrade/progress.ts";

const workDirectory = ".gatehouse-upgrade";

const metaPathKey = "chain.startup_config.init_config.meta_path";

type StoreOptions = Readonly<{
  configPath: string;
  pathsDirectory: string;
  id: string;
  /** Other directories, which must not be inside the data, because they aren't restored with it. */
  others: readonly string[];
}>;

type Limits = Readonly<{ timeoutMs: number; signal: AbortSignal }>;

/** File that lists this process's mounts (Linux, proc_pid_mountinfo(5)). */
type Mounts = Readonly<{ mountsPath?: string }>;

/** Finds the directories that hold a node's data, from its node.conf. Each is copied next to itself, so that a rename restores it. */
export async function findStores(
  document: ConfigDocument,
  { configPath, pathsDirectory, id, others }: StoreOptions,
  limits: Limits & Mounts,
): Promise<Pick<UpgradeRecord, "stores" | "directory">> {
  const values = readNodeValues(document, pathsDirectory);
  const dataPath = values[dataPathKey];
  if (dataPath === undefined)
    throw new UpgradeError(`${configPath} does not specify the data directory (${dataPathKey})`);
  const paths: string[] = [];
  for (const path of [dataPath, values[metaPathKey]].filter((each) => each !== undefined)) {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) throw new UpgradeError(`the data directory ${path} does not exist`);
    if (!paths.some((known) => isInside(real, known))) paths.push(real);
  }
  await requireSeparatePaths(paths, others);
  await requireSingleVolume(paths, limits);
  const stores = paths.map((path, index) => {
    const directory = join(dirname(path), workDirectory, id);
    const name = index === 0 ? "data" : `data-${index + 1}`;
    return { path, copy: join(directory, name), aside: join(directory, `${name}-of-the-new-version`) };
  });
  return { stores, directory: join(dirname(paths[0] ?? "/"), workDirectory, id) };
}

/** Size of the data, free space next to it, and whether the file system supports cloning, in which case a copy takes hardly any space. */
export type CopyCost = Readonly<{ bytes: number; freeBytes: number; isCloned: boolean }>;

/** Estimates what a copy of the data takes; undefined if the time limit is exceeded. */
export async function estimateCopyCost({ path }: UpgradeStore, limits: Limits): Promise<CopyCost | undefined> {
  const command = ["du", "-s", "-B1", "--", path] as const;
  const sizeResult = await runProcess({ command, directory: "/", outputLimitBytes: 65_536, ...limits });
  if (!sizeResult.ok) return undefined;
  const { freeBytes } = await readDiskSpace(path);
  // If nothing can be written next to the data, the copy fails too, and reports the problem itself.
  const isCloned = await canClone(dirname(path)).catch(() => false);
  return { bytes: Number.parseInt(sizeResult.output, 10), freeBytes, isCloned };
}

/** Max bytes of link names to check; a node's data contains few links, if any. */
const linksBytesMax = 1_048_576;

/** Whether a path is a directory or inside it; both are real paths. Pure. */
function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}

/** Resolves the real path for comparison; returns the path itself if it doesn't exist. */
export async function findRealPath(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

async function requireSeparatePaths(paths: readonly string[], others: readonly string[]): Promise<void> {
  const realOthers = await Promise.all(others.map(findRealPath));
  for (const path of paths) {
    const nestedPath = realOthers.find((other) => isInside(other, path));
    if (nestedPath === undefined) continue;
    throw new UpgradeError(
      `${nestedPath} is in the data directory ${path}, which is restored as a whole; move it elsewhere`,
    );
  }
}

/** Rejects directories with a mount or a link that leads out of them: the new version would change data there that is not restored. */
async function requireSingleVolume(
  paths: readonly string[],
  { mountsPath = "/proc/self/mountinfo", ...limits }: Limits & Mounts,
): Promise<void> {
  // Empty on systems other than Linux, where a mounted directory is identified by its device.
  const mounts = parseMountPoints(await readFile(mountsPath, "utf8").catch(() => ""));
  for (const path of paths) {
    const mount = mounts.find((point) => isInside(point, path));
    const [own, parentStat] = await Promise.all([stat(path), stat(dirname(path))]);
    if (mount === path || own.dev !== parentStat.dev)
      throw new UpgradeError(
        `${path} is its own mount, so no copy can replace it; keep the data in a directory below the mount`,
      );
    if (mount !== undefined)
      throw new UpgradeError(
        `${mount} is mounted in the data directory ${path}, which is restored as a whole; keep all data on one file system`,
      );
    const command = ["find", path, "-type", "l", "-print0"] as const;
    const found = await runProcess({ command, directory: "/", outputLimitBytes: linksBytesMax, ...limits });
    if (!found.ok) throw new UpgradeError(`${path} can't be searched for links that lead out of it: ${found.message}`);
    for (const link of found.output.split("\0").filter(Boolean)) {
      // A dangling link leads to no data.
      const target = await realpath(link).catch(() => undefined);
      if (target !== undefined && !paths.some((each) => isInside(target, each))) {
        throw new UpgradeError(
          `${link} leads out of the data directory ${path}, to ${target}, which is not copied; move that into the data directory`,
        );
      }
    }
  }
}

/** Parses the fifth field of each line, in which separators are octal escapes. Pure. */
function parseMountPoints(table: string): readonly string[] {
  const points = table.split("\n").flatMap((line) => line.split(" ")[4] ?? []);
  return points.map((point) => point.replaceAll(/\\([0-7]{3})/g, readEscape));
}

function readEscape(_: string, octal: string): string {
  return String.fromCodePoint(Number.parseInt(octal, 8));
}
