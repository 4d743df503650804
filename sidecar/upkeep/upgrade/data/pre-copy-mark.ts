import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { BootTime, Clock } from "#daemon/clock.ts";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { readRegularFile } from "#daemon/files/regular-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { skipMissing } from "#daemon/skip-missing.ts";

/** Mark of copies that were begun while the node runs and changes its data: their id, and when they were begun. */
const preCopyMark = z.object({
  id: z.string(),
  /** Wall clock, before the first file was read. */
  sinceMs: z.number(),
  bootId: z.string().optional(),
  sinceBootMs: z.number(),
  /** Whether times of files show nothing, because a clock has been set since. */
  isDoubted: z.boolean().optional(),
});

export type PreCopyMark = Readonly<z.output<typeof preCopyMark>>;

/** Clocks by which a mark is judged. */
export type MarkClocks = Readonly<{ clock: Pick<Clock, "wallMs" | "monotonicMs">; boot: () => BootTime }>;

/** Largest correction of a clock; after one that is larger, times of files show nothing. */
const driftMs = 60_000;

/** Writes the mark of new copies; parts of another mark are not theirs. */
export async function writeMark(directory: string, { clock, boot }: MarkClocks): Promise<PreCopyMark> {
  const { bootId, sinceBootMs } = boot();
  const mark = { id: randomUUID(), sinceMs: clock.wallMs(), ...(bootId === undefined ? {} : { bootId }), sinceBootMs };
  await replaceFile(locateMark(directory), JSON.stringify(mark));
  return mark;
}

/** Most bytes of a mark that are read. */
const markBytes = 65_536;

/** Reads the mark of the copies that were begun in a directory; undefined if there is none, or it is invalid. */
export async function readMark(directory: string): Promise<PreCopyMark | undefined> {
  try {
    const { bytes } = await readRegularFile(locateMark(directory), markBytes);
    return preCopyMark.safeParse(parseJson(Buffer.from(bytes).toString("utf8"))).data;
  } catch (error) {
    return skipMissing(error);
  }
}

/** Marks the times of files as showing nothing from now on: a clock that was set may be set back, and look right then. */
export async function markDoubted(directory: string, mark: PreCopyMark): Promise<void> {
  await replaceFile(locateMark(directory), JSON.stringify({ ...mark, isDoubted: true }));
}

/** Removes the mark, so that parts copied under it are not used. */
export async function removeMark(directory: string): Promise<void> {
  await rm(locateMark(directory), { force: true });
}

/**
 * Whether the times of files can still be compared with a mark: after a reboot a copy may lack data that never reached the disk, and after a clock was set,
 * changed files may have any time. Pure except for the clocks.
 */
export function isComparable(
  { bootId, sinceMs, sinceBootMs, isDoubted }: PreCopyMark,
  { clock, boot }: MarkClocks,
): boolean {
  const now = boot();
  if (isDoubted === true) return false;
  if (bootId === undefined || now.bootId !== bootId) return false;
  const drift = clock.wallMs() - sinceMs - (now.sinceBootMs - sinceBootMs);
  return Math.abs(drift) <= driftMs;
}

function locateMark(directory: string): string {
  return join(directory, "pre-copy.json");
}
