import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { runProcess } from "#daemon/process/bounded-process.ts";
import type { Clock } from "#daemon/clock.ts";
import { within } from "#daemon/time.ts";
import { syncDirectory } from "#daemon/files/atomic-file.ts";
import { entryExists } from "#daemon/files/entry-exists.ts";
import { syncTree } from "#daemon/files/sync-tree.ts";
import type { UpgradeStore } from "../../state/upgrade-record.ts";
import { UpgradeError } from "../../../upgrade/progress.ts";

/** Max output from `cp` to keep for a message. */
const outputLimitBytes = 65_536;

/** Options for a copy; `timeoutMs` limits the total time for copying all stores. */
export type CopyOptions = Readonly<{ timeoutMs: number; signal: AbortSignal }>;

/**
 * Copies the directories of a stopped node. A copy gets its final name once all of it is on disk: a killed process leaves no copy, or a
 * partial one.
 */
export async function copyStores(
  stores: readonly UpgradeStore[],
  { timeoutMs, signal }: CopyOptions,
  { clock }: Readonly<{ clock: Pick<Clock, "monotonicMs"> }>,
): Promise<void> {
  const untilMs = clock.monotonicMs() + timeoutMs;
  for (const store of stores) {
    const leftMs = () => {
      const left = untilMs - clock.monotonicMs();
      if (left > 0) return left;
      throw new UpgradeError(
        `${store.path} could not be copied: the ${timeoutMs} ms for all data have elapsed (${copySetting})`,
      );
    };
    await copyStore(store, leftMs, signal);
  }
}

const copySetting = "upgrade.copyTimeoutMs";

async function copyStore({ path, copy }: UpgradeStore, leftMs: () => number, signal: AbortSignal): Promise<void> {
  if (await entryExists(copy)) return;
  await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  await removeParts(copy);
  // The name is unique because the copying program of a killed sidecar may still be running.
  const part = `${copy}${partEnd}${randomUUID()}`;
  const command = ["cp", "-a", "--reflink=auto", "--", path, part] as const;
  const result = await runProcess({ command, directory: "/", timeoutMs: leftMs(), outputLimitBytes, signal });
  if (!result.ok) throw new UpgradeError(`${path} could not be copied to ${copy}: ${result.message}`);
  // The disk may take longer to write the data than the program took to copy it.
  const withinMs = Math.ceil(leftMs());
  const ends = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
  await within(`writing ${part} to the disk (${copySetting})`, withinMs, syncTree(part, ends));
  await rename(part, copy);
  await syncDirectory(dirname(copy));
}

/** Uses two renames; does nothing if the copy was already restored. */
export async function restoreStore({ path, copy, aside }: UpgradeStore): Promise<void> {
  if (!(await entryExists(copy))) return;
  if (await entryExists(path)) {
    await rename(path, await findFreeName(aside));
    await syncDirectory(dirname(path));
  }
  await rename(copy, path);
  await syncDirectory(dirname(copy));
  await syncDirectory(dirname(path));
}

export async function removeCopy({ copy }: UpgradeStore): Promise<void> {
  await rm(copy, { recursive: true, force: true });
  await removeParts(copy);
}

/** Separator between the copy's name and the part's id in the name of a partial copy. */
const partEnd = ".part-";

async function removeParts(copy: string): Promise<void> {
  const directory = dirname(copy);
  const names = (await entryExists(directory)) ? await readdir(directory) : [];
  for (const name of names.filter((each) => each.startsWith(`${basename(copy)}${partEnd}`))) {
    await rm(join(directory, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Finds an unused name. Needed only if another program recreated the data directory between the two renames. */
async function findFreeName(name: string): Promise<string> {
  let free = name;
  for (let number = 2; await entryExists(free); number += 1) free = `${name}-${number}`;
  return free;
}
