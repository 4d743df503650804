import type { Clock } from "#daemon/clock.ts";
import type { ConfigProblemReason } from "#node/conf/problem.ts";
import type { ConfigReading } from "./config-file.ts";

type KnownSince = Readonly<{
  /** When the content last changed (monotonic). */
  contentSinceMs: number;
  /** Time of the last check that found different content (wall clock). */
  otherAtMs: number;
}>;

/** What node.conf contains, and since when. */
export type ContentTimes = KnownSince &
  Readonly<{
    /** Hash of the content at the last iteration. */
    contentHash?: string | undefined;
    /** Problem found at the last iteration. Needed because unreadable content has no hash. */
    problemReason?: ConfigProblemReason | undefined;
    /** Time of the last check (wall clock). */
    checkedAtMs?: number | undefined;
    /** The content before one that no node can start with. */
    startable?: (KnownSince & Readonly<{ contentHash: string }>) | undefined;
  }>;

const unreadableToNode: ReadonlySet<ConfigProblemReason> = new Set(["FileMissing", "Empty", "NotText", "Truncated"]);

/** Whether a node can't start with a node.conf that has this problem. */
export function preventsEachStart(reason: ConfigProblemReason): boolean {
  return unreadableToNode.has(reason);
}

/**
 * Adds a reading. A start script may empty node.conf before it writes the same content again: no node started with the empty file, so the
 * content counts as unchanged.
 */
export function trackContent(before: ContentTimes, reading: ConfigReading, clock: Clock): ContentTimes {
  const { contentHash } = reading;
  const problemReason = reading.ok ? undefined : reading.problem.reason;
  const checkedAtMs = clock.wallMs();
  const isSame = contentHash === before.contentHash && problemReason === before.problemReason;
  if (isSame && before.contentSinceMs !== 0) return { ...before, checkedAtMs };
  const { startable } = before;
  const isRewritten = reading.ok && startable?.contentHash === contentHash;
  const since = isRewritten ? startable : undefined;
  return {
    contentHash,
    problemReason,
    contentSinceMs: since?.contentSinceMs ?? clock.monotonicMs(),
    otherAtMs: since?.otherAtMs ?? before.checkedAtMs ?? 0,
    checkedAtMs,
    startable: problemReason !== undefined && preventsEachStart(problemReason) ? findStartable(before) : undefined,
  };
}

function findStartable({ contentHash, problemReason, contentSinceMs, otherAtMs, startable }: ContentTimes) {
  if (problemReason !== undefined && preventsEachStart(problemReason)) return startable;
  return contentHash === undefined ? undefined : { contentHash, contentSinceMs, otherAtMs };
}
