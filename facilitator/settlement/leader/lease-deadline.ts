import type { Pause } from "#daemon/time.ts";

/** One question to the database that begins or renews a term. */
export type LeaseClaim = Readonly<{
  /** The database agreed: the lease may be trusted from the moment at which it was asked. */
  confirm: () => void;
  /** It did not, or nobody knows: what was trusted before is still. */
  drop: () => void;
}>;

/** How long a replica may trust its lease. It counts from before each question, since nobody knows when the database answered it. */
export type LeaseDeadline = Disposable & Readonly<{ claim: () => LeaseClaim }>;

/** Creates a deadline that has not begun. `onPassed` is called when a lease was not renewed in time. */
export function createLeaseDeadline(
  { trustMs }: Readonly<{ trustMs: number }>,
  { pause, onPassed }: Readonly<{ pause: Pause; onPassed: () => void }>,
): LeaseDeadline {
  let confirmed: AbortController | undefined;
  return {
    claim: () => {
      const counting = new AbortController();
      let isPassed = false;
      const count = async (): Promise<void> => {
        await pause(trustMs, counting.signal);
        if (counting.signal.aborted) return;
        isPassed = true;
        if (confirmed === counting) onPassed();
      };
      void count();
      return {
        confirm: () => {
          confirmed?.abort();
          confirmed = counting;
          if (isPassed) onPassed();
        },
        drop: () => counting.abort(),
      };
    },
    [Symbol.dispose]: () => confirmed?.abort(),
  };
}
