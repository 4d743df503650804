/** Pace of the blocks that arrived while the node was being watched. A plain value, replaced at each successful check. */
export type BlockPace = Readonly<{
  /** Monotonic time of the last successful check. */
  atMs: number;
  /** How long checks have succeeded without a gap. */
  watchedForMs: number;
  /** How long blocks had been arriving without a long gap, up to the last block. Ignores time during which the node was unreachable. */
  steadyForMs: number;
  /** Whether the node was unreachable at any time since the last block. */
  wasUnreachable: boolean;
}>;

/**
 * Whether a chain without new blocks is idle or in trouble. `steady`: for at least the time after which blocks count as missing, blocks
 * arrived and none was late; `irregular`: the chain was watched for that long, but blocks did not arrive steadily; `unknown`: the chain has
 * not been watched for that long.
 */
export type BlockCadence = "steady" | "irregular" | "unknown";

/** One successful check: whether the previous check failed and, if there is a new block, how long the previous block had been the latest. */
export type PaceCheck = Readonly<{ nowMs: number; wasUnreachable: boolean; pauseMs: number | undefined }>;

/** Counts a successful check. A gap longer than `staleAfterMs` while the node responds ends a steady period. Pure function. */
export function advancePace(
  before: BlockPace | undefined,
  { nowMs, wasUnreachable, pauseMs }: PaceCheck,
  staleAfterMs: number,
): BlockPace {
  if (before === undefined) return { atMs: nowMs, watchedForMs: 0, steadyForMs: 0, wasUnreachable: false };
  const watchedForMs = before.watchedForMs + (wasUnreachable ? 0 : nowMs - before.atMs);
  const missed = before.wasUnreachable || wasUnreachable;
  if (pauseMs === undefined) return { ...before, atMs: nowMs, watchedForMs, wasUnreachable: missed };
  const goneOn = pauseMs <= staleAfterMs ? before.steadyForMs + pauseMs : 0;
  return { atMs: nowMs, watchedForMs, steadyForMs: missed ? before.steadyForMs : goneOn, wasUnreachable: false };
}

/** Derives the cadence of a chain whose blocks count as missing after `staleAfterMs`. Pure. */
export function deriveCadence({ steadyForMs, watchedForMs }: BlockPace, staleAfterMs: number): BlockCadence {
  if (steadyForMs >= staleAfterMs) return "steady";
  return watchedForMs >= staleAfterMs ? "irregular" : "unknown";
}
