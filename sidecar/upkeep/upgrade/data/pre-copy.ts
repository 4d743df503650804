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
 * Options for copies made by rsync; `timeoutMs` limits the total time for all of them. A change up to `marginMs` before the first file was
 * read counts as a later change.
 */
export type PreCopyOptions = Readonly<{ timeoutMs: number; marginMs?: number; signal: AbortSignal }>;

type PreCopied = Pick<UpgradeRecord, "stores" | "directory">;

type Limit = Readonly<{ leftMs: (path: string) => number; setting: string; marginMs: number; signal: AbortSignal }>;

/** Exceeds the clock difference between a disk and the machine, and the time that the kernel delays writing a page. */
const usualMarginMs = 600_000;

/** Max number of rsync runs over a running node's data until one succeeds, apart from vanished files: a file may be truncated while it is being read. */
const passesMax = 3;

/** Interval between checks of whether copying is still safe. */
const checkAgainMs = 5_000;

/** Free space to leave for the node while its data is being copied: this fraction of the file system, but at most this many bytes. */
const keptShare = 0.02;
const keptBytesMax = 10 * 2 ** 30;

/**
 * Starts copying the directories of a running node into parts, which {@link finishCopies} completes. Continues with an earlier sidecar's
 * parts if they are usable.
 *
 * @throws {CopyFailed} when the directories can't be copied within the time limit, or the disk fills up.
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
  const looking = waitUntil(look, (trouble) => trouble !== undefined, { everyMs: checkAgainMs, signal: over.signal });
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

/** Continues an earlier sidecar's copies, or starts over. Kills processes that are still copying for that sidecar. */
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
  // After this, the first write to a page updates its file's change time, even if the page was already dirty.
  const unflushed = await syncFileSystem(path, { timeoutMs: leftMs(path), signal });
  if (unflushed !== undefined) throw new CopyFailed(`${path} could not be copied: ${unflushed}`);
  for (let passes = 1; ; passes += 1) {
    // Besides avoiding the second check, this saves space: a large file that has changed would need its space twice.
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

/** Determines why copying must stop; undefined if it may continue. Records a changed clock at once, because the clock may be changed back. */
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
 * Completes the copies of a stopped node's directories: recopies files that may have changed since copying of their part started, and
 * compares doubtful files byte by byte. A copy gets its final name only once all of it is on disk.
 *
 * @throws {CopyFailed} when the directories can't be copied and synced to disk within the time limit.
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

/** Kills copying processes left behind by earlier sidecars; returns whether processes are visible. */
async function endWriters(stores: readonly UpgradeStore[], signal: AbortSignal): Promise<boolean> {
  let isSeen = true;
  for (const { copy } of stores) isSeen = (await endWritersOf(`${copy}${partEnd}`, signal)) && isSeen;
  return isSeen;
}

/** Returns the path of the part in which a copy is stored until it is complete. */
function locatePart(copy: string, { id }: PreCopyMark): string {
  return `${copy}${partEnd}${id}`;
}
