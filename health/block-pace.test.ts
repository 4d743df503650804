import { expect, test } from "vitest";
import { advancePace, deriveCadence, type BlockPace, type BlockCadence, type PaceCheck } from "./block-pace.ts";

const staleAfterMs = 30_000;

/** Checks every second, some of which see a new block, and some of which follow an outage of the node. */
function watched(seconds: number, at: (second: number) => Readonly<{ block?: boolean; away?: boolean }>): BlockCadence {
  let pace: BlockPace | undefined;
  let blockMs = 0;
  for (let second = 0; second <= seconds; second += 1) {
    const { block = false, away = false } = at(second);
    const nowMs = second * 1_000;
    const check: PaceCheck = { nowMs, wasUnreachable: away, pauseMs: block ? nowMs - blockMs : undefined };
    pace = advancePace(pace, check, staleAfterMs);
    if (block) blockMs = nowMs;
  }
  return pace === undefined ? "unknown" : deriveCadence(pace, staleAfterMs);
}

const each =
  (period: number, until = Number.POSITIVE_INFINITY) =>
  (second: number) => ({
    block: second > 0 && second <= until && second % period === 0,
  });

test.each<[string, BlockCadence, BlockCadence]>([
  ["has just been met", watched(20, each(12)), "unknown"],
  ["makes blocks every 12 s", watched(60, each(12)), "steady"],
  ["made blocks every 2 s and has stopped", watched(10_000, each(2, 60)), "steady"],
  ["makes no block", watched(60, () => ({})), "irregular"],
  ["makes a block a minute", watched(600, each(60)), "irregular"],
  ["made a few blocks at once for somebody", watched(600, each(1, 10)), "irregular"],
  [
    "made blocks every 2 s, paused, and made one more",
    watched(600, (second) => ({ block: each(2, 60)(second).block || second === 300 })),
    "irregular",
  ],
  [
    "makes blocks every 2 s, and whose node was away for a minute",
    watched(130, (second) => ({
      block: (second < 60 || second > 120) && second % 2 === 0,
      away: second > 60 && second < 120,
    })),
    "steady",
  ],
  ["makes no block, and whose node was away all the time", watched(100, (second) => ({ away: second > 1 })), "unknown"],
])("a chain that %s", (_, cadence, expected) => {
  expect(cadence).toBe(expected);
});
