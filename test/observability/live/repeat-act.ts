import { setTimeout as sleep } from "node:timers/promises";

/** Repeats an action, with a pause in between, until it is disposed of. */
export function repeatAct(pauseMs: number, act: (round: number) => Promise<unknown>): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const repeat = async () => {
    for (let round = 0; !signal.aborted; round += 1) {
      await act(round);
      // Aborted by the disposal.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const repeating = repeat();
  // Reported by the disposal.
  repeating.catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await repeating;
    },
  };
}
