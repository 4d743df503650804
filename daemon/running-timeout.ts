import { pause } from "./time.ts";

/** Parts that a time limit is counted in. */
const parts = 10;

/**
 * A time limit that counts the time in which this process ran. While the process stands still (it was stopped, got no CPU, or its event loop was
 * busy) no more than a tenth of the limit goes by, so that an answer that came meanwhile is read before the time is over: whoever gave
 * it is not taken for silent. Aborts with a `TimeoutError`, as `AbortSignal.timeout` does, and keeps no process alive.
 */
export function runningTimeout(ms: number): AbortSignal {
  const over = new AbortController();
  let left = parts;
  const wait = () => {
    setTimeout(() => {
      left -= 1;
      if (left > 0) wait();
      else over.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    }, ms / parts).unref();
  };
  wait();
  return over.signal;
}

/** Waits for so much of the time in which this process ran, or until the signal aborts, whichever comes first; never rejects. */
export async function runningPause(ms: number, signal: AbortSignal): Promise<void> {
  for (let part = 0; part < parts && !signal.aborted; part += 1) await pause(ms / parts, signal);
}
