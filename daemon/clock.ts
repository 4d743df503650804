import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { skipMissing } from "./skip-missing.ts";

/** Injected clocks: the wall clock for users and files, the monotonic clock for durations. */
export type Clock = Readonly<{
  /** Milliseconds since 1970; may jump. */
  wallMs: () => number;
  /** Milliseconds since an arbitrary instant; never jumps. */
  monotonicMs: () => number;
}>;

/**
 * Max difference between this machine's clock and a chain's, from block timestamps: above it, payments that are valid for a minute, as most
 * are, would be rejected.
 */
export const chainClockDifferenceMaxMs = 45_000;

export const systemClock: Clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() };

/** A time relative to the machine's boot, unaffected by clock changes. */
export type BootTime = Readonly<{
  /** Differs after each boot; undefined if the system doesn't report it. */
  bootId: string | undefined;
  sinceBootMs: number;
}>;

/** Linux's id of the current boot, the same in every container on the machine. */
const bootIdPath = "/proc/sys/kernel/random/boot_id";

export function bootTime(): BootTime {
  return { bootId: readBootId(), sinceBootMs: uptime() * 1_000 };
}

function readBootId(): string | undefined {
  try {
    return readFileSync(bootIdPath, "utf8").trim();
  } catch (error) {
    return skipMissing(error);
  }
}

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

/** How long a wall clock that was set forward must keep that time until {@link createRetentionClock} follows it. */
export const forwardStepMs = 3_600_000;

/**
 * Creates a wall clock for deleting what is old. It follows a forward step only after {@link forwardStepMs}, so that a wrong time that is
 * soon corrected deletes nothing. After a suspension, it lags by the time suspended, which only delays deletion.
 */
export function createRetentionClock(clock: Clock): () => number {
  let trusted = readClocks(clock);
  let steppedAtMs: number | undefined;
  return () => {
    const now = readClocks(clock);
    const expectedMs = trusted.wallMs + now.monotonicMs - trusted.monotonicMs;
    if (now.wallMs - expectedMs >= slewMs) {
      steppedAtMs ??= now.monotonicMs;
      if (now.monotonicMs - steppedAtMs < forwardStepMs) return expectedMs;
    }
    trusted = now;
    steppedAtMs = undefined;
    return now.wallMs;
  };
}
