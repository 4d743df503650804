import { mkdir, readdir, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { syncDirectory } from "#daemon/files/atomic-file.ts";
import { clearTree } from "../../../restore/restore-place.ts";
import { syncTree } from "#daemon/files/sync-tree.ts";
import { unpackArchive } from "../../../restore/unpack-archive.ts";
import type { UpgradeRecord, UpgradeStore } from "../../state/upgrade-record.ts";
import { copyStores, findFreeName, isThere, removeCopy, type CopyOptions } from "./data-copy.ts";

/** Max unpacked size of an archive in bytes, the same as for `gatehouse restore`. */
const limitBytes = 8_796_093_022_208;
const progressMs = 10_000;

/**
 * Copies a snapshot to a place next to the data that it will replace: copies a directory, unpacks a tar archive. A copy gets its final name
 * only once all of it is on disk.
 *
 * @throws {Error} when it fails; the message contains the reason.
 */
export async function copySnapshot(
  { stores, restoredFrom = [] }: Pick<UpgradeRecord, "stores" | "restoredFrom">,
  options: CopyOptions,
  { clock, log }: Readonly<{ clock: Pick<Clock, "monotonicMs">; log: Logger }>,
): Promise<void> {
  for (const [index, store] of stores.entries()) {
    const source = restoredFrom[index];
    if (source === undefined) throw new Error(`there is no snapshot for ${store.path}`);
    if (await isThere(store.copy)) continue;
    if ((await stat(source)).isFile()) await unpackSnapshot(source, store, options, log);
    else await copyStores([{ ...store, path: source }], options, { clock });
  }
}

async function unpackSnapshot(
  archive: string,
  { path, copy }: UpgradeStore,
  { timeoutMs, signal }: CopyOptions,
  log: Logger,
): Promise<void> {
  const tree = `${copy}.unpacked`;
  const place = { archive, tree };
  const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  await clearTree(place);
  await unpackArchive({ archive: { strip: 0, limitBytes }, progressMs }, place, { log, signal: ends });
  await syncTree(tree, ends);
  // A published snapshot contains only the directory that it replaces.
  const top = basename(path);
  const names = await readdir(tree);
  const isInside = names.every((name) => name === top);
  if (!isInside && names.includes(top)) {
    throw new Error(
      `${archive} has ${names.join(", ")} at its top, and only ${top} is replaced; restore a directory instead`,
    );
  }
  await rename(isInside ? join(tree, top) : tree, copy);
  await syncDirectory(dirname(copy));
}

/** Reinstates the data from before a restore, if that data was moved aside. Leaves the restored data, which may have been written to, next to it. */
export async function revertRestore(store: UpgradeStore): Promise<void> {
  const { path, copy, aside } = store;
  if (!(await isThere(aside))) return removeCopy(store);
  if (await isThere(path)) await rename(path, await findFreeName(`${copy}-restored`));
  await rename(aside, path);
  await syncDirectory(dirname(aside));
  await syncDirectory(dirname(path));
}
