/** Pace of the blocks that arrived while the node was watched; a plain value, replaced at each successful check. */
export type BlockPace = Readonly<{
  /** Monotonic time of the last successful check. */
  atMs: number;
  /** How long checks have succeeded without a gap. */
  watchedForMs: number;
  /** How long blocks arrived without a long pause, up to the last one. Time in which the node was away counts neither way. */
  steadyForMs: number;
  /** Whether the node was away since the last block arrived. */
  wasAway: boolean;
}>;

/**
 * Whether a chain without new blocks is idle or in trouble. `steady`: blocks arrived for at least the time that they may be missing, and
 * none was late; `irregular`: it was watched for that long, and they did not; `unknown`: it has not been watched for that long.
 */
export type BlockRhythm = "steady" | "irregular" | "unknown";

/** One successful check: whether the check before it failed, and, if there is a new block, how long the previous one had been the latest. */
export type PaceCheck = Readonly<{ nowMs: number; wasAway: boolean; pauseMs: number | undefined }>;

/** Counts a successful check; a pause longer than `staleAfterMs` while the node responds ends a steady period. Pure. */
export function advancePace(
  before: BlockPace | undefined,
  { nowMs, wasAway, pauseMs }: PaceCheck,
  staleAfterMs: number,
): BlockPace {
  if (before === undefined) return { atMs: nowMs, watchedForMs: 0, steadyForMs: 0, wasAway: false };
  const watchedForMs = before.watchedForMs + (wasAway ? 0 : nowMs - before.atMs);
  const missed = before.wasAway || wasAway;
  if (pauseMs === undefined) return { ...before, atMs: nowMs, watchedForMs, wasAway: missed };
  const goneOn = pauseMs <= staleAfterMs ? before.steadyForMs + pauseMs : 0;
  return { atMs: nowMs, watchedForMs, steadyForMs: missed ? before.steadyForMs : goneOn, wasAway: false };
}

/** Derives the rhythm of a chain whose blocks count as missing after `staleAfterMs`. Pure. */
export function judgeRhythm({ steadyForMs, watchedForMs }: BlockPace, staleAfterMs: number): BlockRhythm {
  if (steadyForMs >= staleAfterMs) return "steady";
  return watchedForMs >= staleAfterMs ? "irregular" : "unknown";
}
