import { createBusySignal } from "#daemon/process/busy-signal.ts";
import type { Meter } from "./meter.ts";

/** Calls per second at which a gateway counts as busy. */
const busyCalls = 1_000;

/**
 * Reports once when that many calls complete within a second. Until then a sidecar's code is kept small for the node's sake; a busy gateway
 * needs fast code, which takes a third less CPU per forwarded call.
 */
export function withBusySignal(meter: Meter, options: Readonly<{ now: () => number; becameBusy: () => void }>): Meter {
  const add = createBusySignal({ busyCalls, ...options });
  return {
    ...meter,
    call: (call, count = 1) => {
      add(count);
      meter.call(call, count);
    },
  };
}

/** Interval between two ticks; the delay is how late a tick runs. Ten ticks per second cost an idle process nothing measurable. */
const tickMs = 100;
/** Number of ticks retained: half a second. */
const ticksKept = 5;

/** Monitor of this process's event loop delay. */
export type LoopDelay = Disposable & Readonly<{ delayMs: () => number }>;

/** Starts the monitor; the reported delay is the worst in the last half second. */
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
