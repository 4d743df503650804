import { setFlagsFromString } from "node:v8";
import v8Flags from "./v8-flags.json" with { type: "json" };

const windowMs = 1_000;
/** Shorter than the window: a burst of one second would be over by the end of it. */
const checkEveryMs = 50;

/** Number of calls per second at which a process is busy, a count of the calls so far, and a function to call then. */
export type BusySignalOptions = Readonly<{ busyCalls: number; completed: () => number; becameBusy: () => void }>;

/** Compares the calls since the start of each second with those at which a process is busy, and reports once when it is. */
export function watchBusy({ busyCalls, completed, becameBusy }: BusySignalOptions): Disposable {
  let before = completed();
  let sinceMs = performance.now();
  const timer = setInterval(() => {
    const now = completed();
    if (now - before >= busyCalls) {
      clearInterval(timer);
      becameBusy();
    }
    if (performance.now() - sinceMs < windowMs) return;
    before = now;
    sinceMs = performance.now();
  }, checkEveryMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/**
 * Lets V8 optimize for speed again, gives young objects more space, and lets the rest of the heap double between two full collections;
 * `cli/launch.js` disables all this for a sidecar and a facilitator. With a heap that grows by a tenth, floods caused two full collections
 * per second.
 */
export function optimizeForSpeed(): void {
  for (const flag of v8Flags.speed) setFlagsFromString(flag);
}
