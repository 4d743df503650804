import type { Clock } from "#daemon/clock.ts";

export type ClockReading = Readonly<{ wallMs: number; monotonicMs: number }>;

export function readClocks(clock: Clock): ClockReading {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
}

/** Wall clock deviation to ignore, because time servers slew the clock. */
const slewMs = 1_000;

/** Whether the wall clock has not been set since `then`; otherwise file times and process times are not comparable. */
export function isClockUnchanged(then: ClockReading, clock: Clock): boolean {
  const now = readClocks(clock);
  return Math.abs(now.wallMs - then.wallMs - (now.monotonicMs - then.monotonicMs)) < slewMs;
}
