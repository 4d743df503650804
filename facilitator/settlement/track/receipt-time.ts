import type { Pause } from "#daemon/time.ts";

/** How long a caller waits for an outcome: as a rule, and at most once the process is to stop. */
export type ReceiptTime = Readonly<{ receiptTimeoutMs: number; drainMs: number }>;

/** The ending, or `undefined` when it takes too long or the process is to stop, which `signal` says. */
export async function withinReceiptTimeout<Ending>(
  ended: Promise<Ending>,
  { receiptTimeoutMs, drainMs }: ReceiptTime,
  { pause, signal }: Readonly<{ pause: Pause; signal: AbortSignal }>,
): Promise<Ending | undefined> {
  const over = new AbortController();
  const hurry = new AbortController();
  const onStop = () => hurry.abort();
  signal.addEventListener("abort", onStop, { once: true });
  const timeout = async (): Promise<undefined> => {
    if (!signal.aborted) await pause(receiptTimeoutMs, hurry.signal);
    if (signal.aborted) await pause(Math.min(drainMs, receiptTimeoutMs), over.signal);
  };
  try {
    return await Promise.race([ended, timeout()]);
  } finally {
    signal.removeEventListener("abort", onStop);
    over.abort();
    hurry.abort();
  }
}
