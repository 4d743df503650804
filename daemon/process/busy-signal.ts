import { setFlagsFromString } from "node:v8";
import v8Flags from "./v8-flags.json" with { type: "json" };

const windowMs = 1_000;
/** Shorter than the window, because a burst of a second would be over by its end. */
const checkEveryMs = 50;

/** Number of calls per second at which a process counts as busy, the number of calls so far, and a function to call when it is busy. */
export type BusySignalOptions = Readonly<{ busyCalls: number; completed: () => number; becameBusy: () => void }>;

/** Compares each second's calls with the busy threshold, and reports once when it is reached. */
export function watchBusy({ busyCalls, completed, becameBusy }: BusySignalOptions): Disposable {
  let completedBefore = completed();
  let sinceMs = performance.now();
  const timer = setInterval(() => {
    const now = completed();
    if (now - completedBefore >= busyCalls) {
      clearInterval(timer);
      becameBusy();
    }
    if (performance.now() - sinceMs < windowMs) return;
    completedBefore = now;
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
