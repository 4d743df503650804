import { setFlagsFromString } from "node:v8";
import v8Flags from "#daemon/process/v8-flags.json" with { type: "json" };
import type { Meter } from "./meter.ts";

/** Calls within a second from which a gateway is busy. */
const busyCalls = 1_000;
const windowMs = 1_000;

/**
 * Reports once when so many calls end within a second. Until then the code of a sidecar is kept small for the node's sake; a gateway that
 * works wants it fast, which is a third less CPU for a call that is passed on.
 */
export function withBusySignal(
  meter: Meter,
  { now, becameBusy }: Readonly<{ now: () => number; becameBusy: () => void }>,
): Meter {
  let calls = 0;
  let since = now();
  let isBusy = false;
  const add = (count: number) => {
    calls += count;
    if (calls < busyCalls) return;
    isBusy = now() - since <= windowMs;
    if (isBusy) becameBusy();
    calls = 0;
    since = now();
  };
  return {
    ...meter,
    call: (call, count = 1) => {
      if (!isBusy) add(count);
      meter.call(call, count);
    },
  };
}

/**
 * Lets V8 compile for speed again, make room for young objects, and have the rest of its heap double between two collections of all of it, which
 * `cli/launch.js` keeps a sidecar from. With a heap that grows by a tenth, floods had the whole of it collected twice a second, on several threads at once:
 * a container with one CPU has then used its share, and is stopped.
 */
export function preferSpeed(): void {
  for (const flag of v8Flags.speed) setFlagsFromString(flag);
}

/** Time between two ticks; how late one comes is the delay. Ten a second cost an idle process nothing that can be measured. */
const tickMs = 100;
/** Number of ticks that are kept: half a second. */
const ticksKept = 5;

/** Watch of the delay of this process's event loop. */
export type LoopDelay = Disposable & Readonly<{ delayMs: () => number }>;

/** Starts the watch; the delay is the worst of the last half second. */
export function watchLoopDelay({ now }: Readonly<{ now: () => number }>): LoopDelay {
  const delays = Array.from({ length: ticksKept }, () => 0);
  let tickedAt = now();
  let ticks = 0;
  const timer = setInterval(() => {
    const at = now();
    delays[ticks % ticksKept] = Math.max(0, at - tickedAt - tickMs);
    tickedAt = at;
    ticks += 1;
  }, tickMs);
  timer.unref();
  return { delayMs: () => Math.max(...delays), [Symbol.dispose]: () => clearInterval(timer) };
}
