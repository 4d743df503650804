import type { Clock } from "../../clock.ts";

/** How often node.conf had to be corrected lately: what tells a drift from a second writer that disagrees. */
export type CorrectionRate = Readonly<{
  record: () => void;
  /** Corrections within the last minute. */
  perMinute: () => number;
  /** Whether another program keeps changing the file; ends after a minute of calm. */
  contested: () => boolean;
  /** How long the next correction has to wait. */
  waitMs: () => number;
}>;

/** Corrections within a minute from which the file counts as contested. */
const contestedPerMinute = 60;

/** Corrections within a minute beyond which they slow down to one a second. */
const fullSpeedPerMinute = 300;

const slowCorrectionMs = 1_000;
const minuteMs = 60_000;

/** Makes an empty record; it never holds more than a minute's corrections. */
export function correctionRate(clock: Clock): CorrectionRate {
  let timesMs: readonly number[] = [];
  const recent = () => {
    const fromMs = clock.monotonicMs() - minuteMs;
    timesMs = timesMs.filter((atMs) => atMs > fromMs);
    return timesMs;
  };
  return {
    record: () => {
      timesMs = [...recent(), clock.monotonicMs()];
    },
    perMinute: () => recent().length,
    contested: () => recent().length > contestedPerMinute,
    waitMs: () => {
      const last = recent().at(-1);
      if (last === undefined || timesMs.length <= fullSpeedPerMinute) return 0;
      return Math.max(0, slowCorrectionMs - (clock.monotonicMs() - last));
    },
  };
}
