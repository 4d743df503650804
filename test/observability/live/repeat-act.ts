import { setTimeout as sleep } from "node:timers/promises";

/** Does something again and again, with a pause between, until it is disposed of. */
export function repeatAct(pauseMs: number, act: (round: number) => Promise<unknown>): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const repeat = async () => {
    for (let round = 0; !signal.aborted; round += 1) {
      await act(round);
      // Cut short by the end.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const repeating = repeat();
  // Reported by whoever disposes of it.
  repeating.catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await repeating;
    },
  };
}
