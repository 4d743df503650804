import { setFlagsFromString } from "node:v8";
import v8Flags from "./v8-flags.json" with { type: "json" };

const windowMs = 1_000;

/** Number of calls per second at which a process is busy, and a function to call then. */
export type BusySignalOptions = Readonly<{ busyCalls: number; now: () => number; becameBusy: () => void }>;

/** Counts calls, and reports once when that many complete within a second. */
export function createBusySignal({ busyCalls, now, becameBusy }: BusySignalOptions): (count?: number) => void {
  let calls = 0;
  let since = now();
  let isBusy = false;
  return (count = 1) => {
    if (isBusy) return;
    calls += count;
    if (calls < busyCalls) return;
    isBusy = now() - since <= windowMs;
    if (isBusy) becameBusy();
    calls = 0;
    since = now();
  };
}

/**
 * Lets V8 optimize for speed again, gives young objects more space, and lets the rest of the heap double between two full collections;
 * `cli/launch.js` disables all this for a sidecar and a facilitator. With a heap that grows by a tenth, floods caused two full collections
 * per second, on several threads at once: a container with one CPU then uses up its share and is throttled.
 */
export function preferSpeed(): void {
  for (const flag of v8Flags.speed) setFlagsFromString(flag);
}
