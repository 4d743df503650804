/** Reads until a value is right; fails with the last value after the deadline. */
export async function until<T>(
  read: () => Promise<T> | T,
  isRight: (value: T) => boolean,
  withinMs = 40_000,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await read();
    if (isRight(value)) return value;
    if (performance.now() > deadline) throw new Error(`still ${JSON.stringify(value)} after ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
