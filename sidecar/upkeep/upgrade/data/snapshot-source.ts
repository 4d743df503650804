import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, sep } from "node:path";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import { listUpgradeDirectories, type UpgradeRecord, type UpgradeStore } from "../../state/upgrade-record.ts";
import { formatCopyName, measureCopy, isWorkLocation } from "./data-stores.ts";

/** Source for each store's data, or the reason why there is none. */
export type FoundSnapshot = Readonly<{ ok: true; sources: readonly string[] } | { ok: false; problem: string }>;

/**
 * Finds a snapshot: the copy that the last upgrade kept, a directory from such a copy, a directory that contains the node's data, or a tar
 * archive of it. Returns real paths, one per store.
 */
export async function findSnapshot(
  requested: string | undefined,
  stores: readonly UpgradeStore[],
  last: UpgradeRecord | undefined,
): Promise<FoundSnapshot> {
  if (requested === undefined && last?.restoredFrom?.every((path) => isWorkLocation(dirname(path))) === true) {
    // The copy from which the last restore was made still exists, unless someone removed it.
    return findSnapshot(dirname(last.restoredFrom[0] ?? "/"), stores, undefined);
  }
  const source = requested ?? (last === undefined ? undefined : listUpgradeDirectories(last)[0]);
  if (source === undefined) return { ok: false, problem: noneKept };
  if (!isAbsolute(source)) return { ok: false, problem: `${source} is not an absolute path` };
  const copies =
    last?.directory === source
      ? last.stores.map(({ copy }) => copy)
      : stores.map((_, at) => join(source, formatCopyName(at)));
  let sources: readonly string[] | string;
  try {
    const found = (await Promise.all(copies.map(findPath))).filter((path) => path !== undefined);
    if (found.length === stores.length) sources = found;
    else if (requested === undefined) sources = `${noneKept} (${source} holds none any more)`;
    else sources = await findSingle(requested, stores);
  } catch (error) {
    const { code, path = source } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    sources = `${path} can't be read (${code})`;
  }
  if (typeof sources === "string") return { ok: false, problem: sources };
  for (const each of sources) {
    const inside = stores.find(({ path }) => each === path || each.startsWith(path + sep));
    if (inside !== undefined) return { ok: false, problem: `${each} lies in the node's data directory ${inside.path}` };
  }
  return { ok: true, sources };
}

const noneKept =
  "no upgrade has kept a copy of the data (upgrade.keepSnapshot); name a directory or a tar archive with them";

/** Resolves the real path; undefined if it doesn't exist. */
async function findPath(path: string): Promise<string | undefined> {
  return realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
}

async function findSingle(source: string, stores: readonly UpgradeStore[]): Promise<readonly string[] | string> {
  const path = await findPath(source);
  if (path === undefined) return `${source} is not there`;
  if (stores.length > 1) {
    return `the node's data lie in ${stores.length} directories; name a directory that has a copy of each, as ${stores.map((_, index) => formatCopyName(index)).join(" and ")}`;
  }
  const found = await stat(path);
  if (found.isFile()) return [path];
  if (!found.isDirectory()) return `${source} is neither a directory nor a file`;
  const names = await readdir(path);
  if (names.length === 0) return `${source} is empty`;
  if (!isWorkLocation(path)) return [path];
  return `${source} is the directory of an upgrade that holds no copy of the data (${formatCopyName(0)}): it has ${names.toSorted().join(", ")}; name one of these if it has the data`;
}

/** Determines why there isn't enough space for the restored data, next to the data that it replaces. An archive may unpack to more. */
export async function findNoRoom(
  sources: readonly string[],
  stores: readonly UpgradeStore[],
  options: Readonly<{ timeoutMs: number; signal: AbortSignal; mayClone: boolean }>,
): Promise<readonly string[]> {
  const problems = stores.map(async ({ path }, index) => {
    const source = sources[index] ?? path;
    const found = await stat(source);
    const { size, dev } = found;
    const target = dirname(path);
    const cost = found.isFile() ? { bytes: size, isCloned: false } : await measureCopy({ path: source }, options);
    if (cost === undefined) return `${source} can't be measured within ${options.timeoutMs} ms`;
    if (options.mayClone && cost.isCloned && dev === (await stat(target)).dev) return undefined;
    const { freeBytes } = await readDiskSpace(target);
    if (cost.bytes <= freeBytes) return undefined;
    return `what is in ${source} takes ${cost.bytes} bytes, and ${freeBytes} are free next to ${path}`;
  });
  return (await Promise.all(problems)).filter((problem) => problem !== undefined);
}
