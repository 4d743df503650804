import { monitorEventLoopDelay } from "node:perf_hooks";

/** Time between two looks at the event loop's delay. */
const lookMs = 500;
const nanosecondsInMillisecond = 1e6;
/** The histogram's own timer: what it measures beyond this is delay. */
const resolutionMs = 20;

/** Watches how late this process's event loop runs. */
export type LoopDelay = Disposable & Readonly<{ delayMs: () => number }>;

/** Starts to watch; the delay is the worst of the last half second. */
export function watchLoopDelay(): LoopDelay {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  histogram.enable();
  let delayMs = 0;
  const timer = setInterval(() => {
    delayMs = Math.max(0, histogram.max / nanosecondsInMillisecond - resolutionMs);
    histogram.reset();
  }, lookMs);
  timer.unref();
  return {
    delayMs: () => delayMs,
    [Symbol.dispose]: () => {
      clearInterval(timer);
      histogram.disable();
    },
  };
}
