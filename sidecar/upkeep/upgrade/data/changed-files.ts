import { lstat, opendir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { skipMissing } from "#daemon/skip-missing.ts";

/** Directory or file, and its copy. */
type Pair = Readonly<{ from: string; copy: string }>;

const concurrentFiles = 16;

/**
 * Removes from a copy every file whose original may have changed since a given time, so that the remaining files need no second check.
 *
 * A file's size and modification time are not evidence: a program may write through a mapping, or set the time back. The change time
 * (ctime, inode(7)) can't be set, and each first write to a page that is on disk updates it.
 *
 * @param sinceMs wall-clock time.
 */
export async function removeChanged(pair: Pair, sinceMs: number, signal: AbortSignal): Promise<void> {
  // Nothing is removed through a link in the copy, because the link may lead into the original data.
  if (!(await isRealDirectory(pair.copy))) return rm(pair.copy, { recursive: true, force: true });
  const names: string[] = [];
  const lookAtNames = async () => {
    signal.throwIfAborted();
    const pairs = names.splice(0).map((name) => ({ from: join(pair.from, name), copy: join(pair.copy, name) }));
    const kinds = await Promise.all(pairs.map((each) => removeIfChanged(each, sinceMs)));
    for (const [index, each] of pairs.entries())
      if (kinds[index] === "directory") await removeChanged(each, sinceMs, signal);
  };
  const directory = await opendir(pair.from).catch(skipMissing);
  if (directory === undefined) return rm(pair.copy, { recursive: true, force: true });
  for await (const { name } of directory) {
    names.push(name);
    if (names.length >= concurrentFiles) await lookAtNames();
  }
  await lookAtNames();
}

async function removeIfChanged({ from, copy }: Pair, sinceMs: number): Promise<"directory" | "other"> {
  const found = await lstat(from).catch(skipMissing);
  if (found?.isDirectory() === true) return "directory";
  const isAsBefore = found !== undefined && Math.max(found.mtimeMs, found.ctimeMs) < sinceMs;
  if (!isAsBefore) await rm(copy, { recursive: true, force: true });
  return "other";
}

async function isRealDirectory(path: string): Promise<boolean> {
  return (await lstat(path).catch(skipMissing))?.isDirectory() === true;
}

/** Local disk file systems that update the change time at each first write to a page, by type number (statfs(2)). */
const reliableFileSystems: ReadonlyMap<number, string> = new Map([
  [0xef53, "ext2, ext3 and ext4"],
  [0x58465342, "XFS"],
  [0x9123683e, "Btrfs"],
  [0xf2f52010, "F2FS"],
]);

/**
 * Whether file times reliably show changes. That is not so on every file system: tmpfs doesn't update them on writes to a mapping, a
 * network file system uses another clock, and the layers below an overlay are invisible.
 */
export async function showsChanges(path: string): Promise<boolean> {
  return reliableFileSystems.has((await statfs(path)).type);
}
