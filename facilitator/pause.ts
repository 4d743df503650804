/** A wait that can be cut short. */
export type Pause = Readonly<{
  /** Waits; returns at once when it was ended since the last wait. */
  wait: (ms: number) => Promise<void>;
  /** Ends the wait under way, or the next one before it begins. */
  end: () => void;
}>;

/** Creates a pause for one loop. */
export function createPause(): Pause {
  let isEnded = false;
  let resolveWait: (() => void) | undefined;
  return {
    wait: async (ms) => {
      if (!isEnded) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        resolveWait = resolve;
        await promise;
        clearTimeout(timer);
      }
      isEnded = false;
    },
    end: () => {
      isEnded = true;
      resolveWait?.();
    },
  };
}
