/** How long is waited between attempts: at first, and at most. */
export type BackoffOptions = Readonly<{ initialMs: number; maxMs: number }>;

/** Waits between attempts that fail one after another. */
export type Backoff = Readonly<{
  /** The wait after one more failure, in milliseconds. */
  nextMs: () => number;
  /** An attempt has succeeded: the next failure is a first one. */
  reset: () => void;
}>;

/**
 * Doubles the wait with each failure, and takes up to half of it away by chance, so that many who lost the same peer do not come
 * back to it at the same moments (exponential backoff with jitter). `random` gives numbers from 0 up to 1.
 */
export function createBackoff(
  { initialMs, maxMs }: BackoffOptions,
  { random = Math.random }: Readonly<{ random?: () => number }> = {},
): Backoff {
  let waitMs = initialMs;
  return {
    nextMs: () => {
      const own = Math.min(waitMs, maxMs);
      waitMs = Math.min(own * 2, maxMs);
      return own * (1 - random() / 2);
    },
    reset: () => {
      waitMs = initialMs;
    },
  };
}
