/** Pace of the blocks that came while the node was watched; a plain value, replaced at each answered look. */
export type BlockPace = Readonly<{
  /** Monotonic time of the last answered look. */
  atMs: number;
  /** Time over which one look after another was answered. */
  watchedForMs: number;
  /** Time over which blocks came without a long pause, up to the last one. Time in which the node was away counts neither way. */
  steadyForMs: number;
  /** Whether the node was away since the last block came. */
  wasAway: boolean;
}>;

/**
 * Whether a chain that makes no block is at rest or in trouble. `steady`: blocks came for as long as they may be missing, and none was
 * late; `irregular`: it was watched for that long, and they did not; `unknown`: it has not been watched for that long.
 */
export type BlockRhythm = "steady" | "irregular" | "unknown";

/** One answered look: whether the one before it failed, and how long the last block had been the last if there is a new one. */
export type PaceLook = Readonly<{ nowMs: number; wasAway: boolean; pauseMs: number | undefined }>;

/** Counts an answered look; a pause longer than `staleAfterMs` while the node answers ends what was steady. Pure. */
export function advancePace(
  before: BlockPace | undefined,
  { nowMs, wasAway, pauseMs }: PaceLook,
  staleAfterMs: number,
): BlockPace {
  if (before === undefined) return { atMs: nowMs, watchedForMs: 0, steadyForMs: 0, wasAway: false };
  const watchedForMs = before.watchedForMs + (wasAway ? 0 : nowMs - before.atMs);
  const missed = before.wasAway || wasAway;
  if (pauseMs === undefined) return { ...before, atMs: nowMs, watchedForMs, wasAway: missed };
  const goneOn = pauseMs <= staleAfterMs ? before.steadyForMs + pauseMs : 0;
  return { atMs: nowMs, watchedForMs, steadyForMs: missed ? before.steadyForMs : goneOn, wasAway: false };
}

/** Judges the pace of a chain whose blocks count as missing after `staleAfterMs`. Pure. */
export function judgeRhythm({ steadyForMs, watchedForMs }: BlockPace, staleAfterMs: number): BlockRhythm {
  if (steadyForMs >= staleAfterMs) return "steady";
  return watchedForMs >= staleAfterMs ? "irregular" : "unknown";
}
