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
