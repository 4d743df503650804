import { expect, test } from "vitest";
import { advancePace, deriveCadence, type BlockPace, type BlockCadence, type PaceCheck } from "./block-pace.ts";

const staleAfterMs = 30_000;

/** One check per second; some see a new block, some come right after a node outage. */
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
  ["has only just been seen", watched(20, each(12)), "unknown"],
  ["produces a block every 12 s", watched(60, each(12)), "steady"],
  ["produced a block every 2 s and has stopped", watched(10_000, each(2, 60)), "steady"],
  ["produces no blocks", watched(60, () => ({})), "irregular"],
  ["produces a block a minute", watched(600, each(60)), "irregular"],
  ["produced a few blocks on demand", watched(600, each(1, 10)), "irregular"],
  [
    "produced a block every 2 s, paused, and produced one more",
    watched(600, (second) => ({ block: each(2, 60)(second).block || second === 300 })),
    "irregular",
  ],
  [
    "produces a block every 2 s, with its node down for a minute",
    watched(130, (second) => ({
      block: (second < 60 || second > 120) && second % 2 === 0,
      away: second > 60 && second < 120,
    })),
    "steady",
  ],
  ["produces no blocks, with its node down all the time", watched(100, (second) => ({ away: second > 1 })), "unknown"],
])("classifies a chain that %s", (_, cadence, expected) => {
  expect(cadence).toBe(expected);
});
