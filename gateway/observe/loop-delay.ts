/** Time between two ticks; how late one comes is the delay. Ten a second cost an idle process nothing that can be measured. */
const tickMs = 100;
/** Ticks that are looked back on: half a second. */
const ticksKept = 5;

/** Watches how late this process's event loop runs. */
export type LoopDelay = Disposable & Readonly<{ delayMs: () => number }>;

/** Starts to watch; the delay is the worst of the last half second. */
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
