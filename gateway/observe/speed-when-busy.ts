import { setFlagsFromString } from "node:v8";
import v8Flags from "#daemon/process/v8-flags.json" with { type: "json" };
import type { Meter } from "./meter.ts";

/** Calls per second from which a gateway is busy. */
const busyCalls = 1_000;
const windowMs = 1_000;

/**
 * Reports once when that many calls complete within a second. Until then a sidecar's code is kept small for the node's sake; a busy gateway
 * needs fast code, which takes a third less CPU per forwarded call.
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
 * Lets V8 optimize for speed again, gives young objects more space, and lets the rest of the heap double between two full collections;
 * `cli/launch.js` disables all this for a sidecar. With a heap that grows by a tenth, floods caused two full collections per second, on
 * several threads at once: a container with one CPU then uses up its share and is throttled.
 */
export function preferSpeed(): void {
  for (const flag of v8Flags.speed) setFlagsFromString(flag);
}

/** Interval between two ticks; how late a tick comes is the delay. Ten per second cost an idle process nothing measurable. */
const tickMs = 100;
/** Number of ticks retained: half a second. */
const ticksKept = 5;

/** Monitor of this process's event loop delay. */
export type LoopDelay = Disposable & Readonly<{ delayMs: () => number }>;

/** Starts the monitor; the delay is the worst of the last half second. */
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
