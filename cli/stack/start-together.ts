type Started<Starts extends readonly Promise<AsyncDisposable>[]> = {
  -readonly [K in keyof Starts]: Awaited<Starts[K]>;
};

/**
 * Waits for parts that start at the same time and hands them to `resources` as one, so that they also stop at the same time.
 * When one of them fails to start, the others are stopped before its error is thrown.
 */
export async function startTogether<const Starts extends readonly Promise<AsyncDisposable>[]>(
  resources: AsyncDisposableStack,
  starts: Starts,
): Promise<Started<Starts>> {
  const results = await Promise.allSettled(starts);
  const started = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  resources.defer(() => stopTogether(started));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return started as unknown as Started<Starts>;
}

async function stopTogether(parts: readonly AsyncDisposable[]): Promise<void> {
  const results = await Promise.allSettled(parts.map((part) => part[Symbol.asyncDispose]()));
  const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (reasons.length > 0) throw new AggregateError(reasons, "some parts did not stop cleanly");
}
