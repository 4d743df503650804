type Started<Starts extends readonly Promise<AsyncDisposable>[]> = {
  -readonly [K in keyof Starts]: Awaited<Starts[K]>;
};

/** Parts that stop at the same time. */
export type PartGroup = AsyncDisposable &
  Readonly<{
    /**
     * Waits for parts that start at the same time and takes them in, also those that started beside one that failed.
     *
     * @throws what the first part that failed threw.
     */
    start: <const Starts extends readonly Promise<AsyncDisposable>[]>(starts: Starts) => Promise<Started<Starts>>;
  }>;

/** Makes an empty group. Disposing of it stops all its parts together and reports every failure. */
export function partGroup(): PartGroup {
  const parts: AsyncDisposable[] = [];
  return {
    start: async <const Starts extends readonly Promise<AsyncDisposable>[]>(starts: Starts) => {
      const results = await Promise.allSettled(starts);
      parts.push(...results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      return results.map((result) => (result as PromiseFulfilledResult<AsyncDisposable>).value) as Started<Starts>;
    },
    [Symbol.asyncDispose]: async () => {
      const results = await Promise.allSettled(parts.map((part) => part[Symbol.asyncDispose]()));
      const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
      if (reasons.length > 0) throw new AggregateError(reasons, "some parts did not stop cleanly");
    },
  };
}
