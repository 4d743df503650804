import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import { waitUntil } from "#daemon/time.ts";
import type { UpgradeRecord, UpgradeStore } from "../../state/upgrade-record.ts";
import { removeChanged, showsChanges } from "./changed-files.ts";
import { CopyFailed, isThere, limitCopies, namePart, partEnd, removeParts, syncWithin } from "./data-copy.ts";
import {
  markDoubted,
  isComparable,
  readMark,
  removeMark,
  writeMark,
  type MarkClocks,
  type PreCopyMark,
} from "./pre-copy-mark.ts";
import { endWritersOf, syncFileSystem, runRsync } from "./rsync.ts";

/**
 * Options of copies by rsync; `timeoutMs` bounds all of them together. A change up to `marginMs` before the first file was read counts as one after it.
 */
export type PreCopyOptions = Readonly<{ timeoutMs: number; marginMs?: number; signal: AbortSignal }>;

type PreCopied = Pick<UpgradeRecord, "stores" | "directory">;

type Limit = Readonly<{ leftMs: (path: string) => number; setting: string; marginMs: number; signal: AbortSignal }>;

/** More than the difference between the clocks of a disk and the machine, and than the time that the kernel keeps a page before writing it. */
const usualMarginMs = 600_000;

/** Most passes over a running node's data until rsync succeeds, vanished files aside: a file may be cut short while it is read. */
const passesMax = 3;

/** Interval of the check whether copying is still safe. */
const lookAgainMs = 5_000;

/** Free space that is left to the node while its data are copied: this share of the file system, but at most this many bytes. */
const keptShare = 0.02;
const keptBytesMax = 10 * 2 ** 30;

/**
 * Begins to copy the directories of a running node, into parts that {@link finishCopies} completes. Goes on with the parts of an earlier
 * sidecar if they can be used.
 *
 * @throws {CopyFailed} when they can't be copied within the time, or the disk gets full.
 */
export async function copyRunningStores(
  record: PreCopied,
  { timeoutMs, marginMs = usualMarginMs, signal }: PreCopyOptions,
  clocks: MarkClocks,
): Promise<void> {
  const setting = "upgrade.preCopyTimeoutMs";
  const limit = { leftMs: limitCopies({ timeoutMs, setting }, clocks.clock), setting, marginMs, signal };
  const mark = await beginCopies(record, signal, clocks);
  const stop = new AbortController();
  const over = new AbortController();
  const look = () => findTrouble(record, mark, clocks).catch((error: Error) => error.message);
  const looking = waitUntil(look, (trouble) => trouble !== undefined, { everyMs: lookAgainMs, signal: over.signal });
  const stopped = looking.then((trouble) => {
    if (trouble !== undefined) stop.abort();
    return trouble;
  });
  try {
    const signals = AbortSignal.any([signal, stop.signal]);
    for (const store of record.stores) await copyRunningStore(store, mark, { ...limit, signal: signals });
  } catch (error) {
    const trouble = stop.signal.aborted ? await stopped : undefined;
    throw trouble === undefined ? error : new CopyFailed(trouble);
  } finally {
    over.abort();
    await stopped;
  }
}

/** Goes on with the copies of an earlier sidecar, or starts over. Processes that still copy for that sidecar are ended. */
async function beginCopies(
  { stores, directory }: PreCopied,
  signal: AbortSignal,
  clocks: MarkClocks,
): Promise<PreCopyMark> {
  for (const { copy } of stores) await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  const isAlone = await endWriters(stores, signal);
  const known = await readMark(directory);
  const goesOn = known !== undefined && isAlone && isComparable(known, clocks);
  if (!goesOn) await removeMark(directory);
  for (const { copy } of stores) await removeParts(copy, goesOn ? locatePart(copy, known) : undefined);
  return goesOn ? known : writeMark(directory, clocks);
}

async function copyRunningStore(
  { path, copy }: UpgradeStore,
  mark: PreCopyMark,
  { leftMs, setting, marginMs, signal }: Limit,
): Promise<void> {
  const part = locatePart(copy, mark);
  // From here on, the first write to a page sets its file's time of change, even if the page was already written before and not yet saved.
  const unflushed = await syncFileSystem(path, { timeoutMs: leftMs(path), signal });
  if (unflushed !== undefined) throw new CopyFailed(`${path} could not be copied: ${unflushed}`);
  for (let passes = 1; ; passes += 1) {
    // This not only saves the second look: a large changed file would need its space twice.
    await removeChanged({ from: path, copy: part }, mark.sinceMs - marginMs, signal);
    const timeoutMs = leftMs(path);
    const result = await runRsync({ from: path, to: part, isLow: true, comparesContent: false, timeoutMs, signal });
    if (result.ok) break;
    if (result.isLate) leftMs(path);
    if (passes === passesMax || signal.aborted) {
      throw new CopyFailed(`${path} could not be copied to ${copy} while the node ran: ${result.why}`);
    }
  }
  await syncWithin(part, { withinMs: leftMs(path), setting, signal });
}

/** Finds why copying has to end; undefined if it may go on. A clock that was set is noted at once, because it may be set back. */
async function findTrouble(
  { stores, directory }: PreCopied,
  mark: PreCopyMark,
  clocks: MarkClocks,
): Promise<string | undefined> {
  if (!isComparable(mark, clocks)) await markDoubted(directory, mark);
  for (const { path } of stores) {
    const { freeBytes, totalBytes } = await readDiskSpace(path);
    const kept = Math.min(keptBytesMax, keptShare * totalBytes);
    if (freeBytes < kept)
      return `${freeBytes} bytes are free next to ${path}, and ${Math.round(kept)} are left to the node while its data are copied`;
  }
  return undefined;
}

/**
 * Completes the copies of a stopped node's directories: files that may have changed since their part was begun are copied again, and files in
 * doubt are compared byte by byte. A copy gets its name only once all of it is on disk.
 *
 * @throws {CopyFailed} when they can't be copied, and be on disk, within the time.
 */
export async function finishCopies(
  record: PreCopied,
  { timeoutMs, marginMs = usualMarginMs, signal }: PreCopyOptions,
  clocks: MarkClocks,
): Promise<void> {
  const { stores, directory } = record;
  const setting = "upgrade.copyTimeoutMs";
  for (const { copy } of stores) await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  const limit = { leftMs: limitCopies({ timeoutMs, setting }, clocks.clock), setting, marginMs, signal };
  if (!(await endWriters(stores, signal))) await removeMark(directory);
  const known = await readMark(directory);
  const isDoubted = known !== undefined && !isComparable(known, clocks);
  if (isDoubted) await markDoubted(directory, known);
  const mark = known ?? (await writeMark(directory, clocks));
  for (const store of stores) await finishCopy(store, { mark, isDoubted }, limit);
  await removeMark(directory);
}

async function finishCopy(
  { path, copy }: UpgradeStore,
  { mark, isDoubted }: Readonly<{ mark: PreCopyMark; isDoubted: boolean }>,
  { leftMs, setting, marginMs, signal }: Limit,
): Promise<void> {
  if (await isThere(copy)) return;
  const part = locatePart(copy, mark);
  await removeParts(copy, part);
  const comparesContent = isDoubted || !(await showsChanges(path));
  if (!comparesContent) await removeChanged({ from: path, copy: part }, mark.sinceMs - marginMs, signal);
  const timeoutMs = leftMs(path);
  const result = await runRsync({ from: path, to: part, isLow: false, comparesContent, timeoutMs, signal });
  if (!result.ok) {
    if (result.isLate) leftMs(path);
    throw new CopyFailed(`${path} could not be copied to ${copy}: ${result.why}`);
  }
  if (result.vanished) throw new CopyFailed(`files of ${path} were removed while it was copied; stop whoever did that`);
  await syncWithin(part, { withinMs: leftMs(path), setting, signal });
  await namePart(part, copy);
}

/** Ends the copying processes that earlier sidecars left; returns whether processes can be seen. */
async function endWriters(stores: readonly UpgradeStore[], signal: AbortSignal): Promise<boolean> {
  let isSeen = true;
  for (const { copy } of stores) isSeen = (await endWritersOf(`${copy}${partEnd}`, signal)) && isSeen;
  return isSeen;
}

/** Locates the part that holds a copy until it is complete. */
function locatePart(copy: string, { id }: PreCopyMark): string {
  return `${copy}${partEnd}${id}`;
}
