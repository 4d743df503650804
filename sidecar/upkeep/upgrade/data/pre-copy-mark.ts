import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { BootTime, Clock } from "#daemon/clock.ts";
import { replaceFile } from "#daemon/files/atomic-file.ts";
import { readRegularFile } from "#daemon/files/regular-file.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { skipMissing } from "#daemon/skip-missing.ts";

/** Marks copies that were started while the node was running and changing its data: their id and start time. */
const preCopyMark = z.object({
  id: z.string(),
  /** Wall clock time before the first file was read. */
  sinceMs: z.number(),
  bootId: z.string().optional(),
  sinceBootMs: z.number(),
  /** Whether file times are unreliable because a clock has been set since. */
  isDoubted: z.boolean().optional(),
});

export type PreCopyMark = Readonly<z.output<typeof preCopyMark>>;

/** Clocks used for judging a mark. */
export type MarkClocks = Readonly<{ clock: Pick<Clock, "wallMs" | "monotonicMs">; boot: () => BootTime }>;

/** Max clock correction; after a larger one, file times are unreliable. */
const driftMs = 60_000;

/** Writes the mark for new copies; parts made under another mark don't belong to them. */
export async function writeMark(directory: string, { clock, boot }: MarkClocks): Promise<PreCopyMark> {
  const { bootId, sinceBootMs } = boot();
  const mark = { id: randomUUID(), sinceMs: clock.wallMs(), ...(bootId === undefined ? {} : { bootId }), sinceBootMs };
  await replaceFile(locateMark(directory), JSON.stringify(mark));
  return mark;
}

/** Max bytes to read from a mark. */
const markBytes = 65_536;

/** Reads the mark of the copies started in a directory; undefined if it is missing or invalid. */
export async function readMark(directory: string): Promise<PreCopyMark | undefined> {
  try {
    const { bytes } = await readRegularFile(locateMark(directory), markBytes);
    return preCopyMark.safeParse(parseJson(Buffer.from(bytes).toString("utf8"))).data;
  } catch (error) {
    return skipMissing(error);
  }
}

/** Marks file times as unreliable from now on: a clock that was changed may be changed back and look right again. */
export async function markDoubted(directory: string, mark: PreCopyMark): Promise<void> {
  await replaceFile(locateMark(directory), JSON.stringify({ ...mark, isDoubted: true }));
}

/** Removes the mark, so that parts copied under it aren't used. */
export async function removeMark(directory: string): Promise<void> {
  await rm(locateMark(directory), { force: true });
}

/**
 * Whether file times are still comparable with a mark. After a reboot, a copy may lack data that never reached the disk; after a clock was
 * set, changed files may have any time. Pure except for the clocks.
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
