/** Waits that are shorter than in the product: those with these lengths, by this factor. */
export type Accelerated = Readonly<{ waitsMs: readonly number[]; times: number }>;

export function accelerate(ms: number, { waitsMs, times }: Accelerated): number {
  return waitsMs.includes(ms) ? ms / times : ms;
}

export function accelerateWaits(accelerated: Accelerated): Disposable {
  const wait = globalThis.setTimeout;
  const sooner = (callback: (...given: readonly unknown[]) => void, ms = 0, ...given: readonly unknown[]) =>
    wait(() => callback(...given), accelerate(ms, accelerated));
  globalThis.setTimeout = Object.assign(sooner, wait);
  return { [Symbol.dispose]: () => void (globalThis.setTimeout = wait) };
}

/**
 * Shortens a service's waits, and those for a SQLite file that another process has locked; returns the required
 * environment.
 */
export function accelerateService({ waitsMs, times }: Accelerated): Readonly<{ NODE_OPTIONS: string }> {
  const { href } = new URL("accelerated-service.ts", import.meta.url);
  return { NODE_OPTIONS: `--import=${href}?waits=${waitsMs.join()}&times=${times}` };
}
