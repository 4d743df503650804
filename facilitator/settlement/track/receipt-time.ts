/** How long a caller waits for an outcome: as a rule, and at most once the process is to stop. */
export type ReceiptTime = Readonly<{ receiptTimeoutMs: number; drainMs: number }>;

/** The ending, or `undefined` when it takes too long or the process is to stop. */
export async function withinReceiptTimeout<Ending>(
  ended: Promise<Ending>,
  { receiptTimeoutMs, drainMs }: ReceiptTime,
  signal: AbortSignal,
): Promise<Ending | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const giveUp = () => resolve(undefined);
  let timer = setTimeout(giveUp, signal.aborted ? Math.min(drainMs, receiptTimeoutMs) : receiptTimeoutMs);
  const hurry = () => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, drainMs);
  };
  signal.addEventListener("abort", hurry, { once: true });
  try {
    return await Promise.race([ended, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", hurry);
  }
}
