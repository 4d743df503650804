/** Pushes that were seen of one job; a plain value, replaced at each look. */
export type PushesSeen = Readonly<{
  /** Monotonic time of the first look. */
  sinceMs: number;
  lastPushSeconds: number;
  /** Monotonic time at which the last push was first seen; a jump of the wall clock does not make it old. */
  lastPushSeenMs: number;
  /** Distinct pushes after the first one. */
  count: number;
}>;

/** Pushes that one node makes in the time that is looked at; enough for two nodes to differ from one. */
const intervalsLookedAt = 6;

/** Counts pushes. Starts anew when enough were seen. Pure. */
export function countPush(
  before: PushesSeen | undefined,
  { lastPushSeconds, ageMs }: Readonly<{ lastPushSeconds: number; ageMs: number }>,
  nowMs: number,
  intervalSeconds: number,
): PushesSeen {
  if (before === undefined) {
    return { sinceMs: nowMs, lastPushSeconds, lastPushSeenMs: nowMs - Math.max(0, ageMs), count: 0 };
  }
  const isNew = before.lastPushSeconds !== lastPushSeconds;
  const lastPushSeenMs = isNew ? nowMs : before.lastPushSeenMs;
  const isOver = nowMs - before.sinceMs > intervalsLookedAt * intervalSeconds * 1_500;
  if (isOver) return { sinceMs: nowMs, lastPushSeconds, lastPushSeenMs, count: 0 };
  return { ...before, lastPushSeconds, lastPushSeenMs, count: before.count + (isNew ? 1 : 0) };
}

/**
 * Whether more pushes came than one node makes: two nodes under one job overwrite each other, and nothing else tells. Undefined
 * as long as too few intervals have passed to say. Pure.
 */
export function isShared(seen: PushesSeen, nowMs: number, intervalSeconds: number): boolean | undefined {
  const intervals = (nowMs - seen.sinceMs) / (intervalSeconds * 1_000);
  if (intervals < intervalsLookedAt) return undefined;
  return seen.count > intervals * 1.5;
}
