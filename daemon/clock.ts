import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { skipMissing } from "./skip-missing.ts";

/** Time, passed in: the wall clock for what people and files see, the monotonic clock for how long something took. */
export type Clock = Readonly<{
  /** Milliseconds since 1970; may jump. */
  wallMs: () => number;
  /** Milliseconds since some instant; never jumps. */
  monotonicMs: () => number;
}>;

/** The machine's clock. */
export const systemClock: Clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() };

/** A moment as the machine counts it since it was started; no clock that is set changes it. */
export type BootTime = Readonly<{
  /** Differs after each start of the machine; undefined if the system does not say. */
  bootId: string | undefined;
  sinceBootMs: number;
}>;

/** Linux' name of this start of the machine, the same in every container on it. */
const bootIdPath = "/proc/sys/kernel/random/boot_id";

/** Reads the machine's own count of time. */
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
