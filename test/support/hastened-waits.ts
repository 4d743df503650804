/** Waits that end sooner than in the product: those of these lengths, by this factor. */
export type Hastened = Readonly<{ waitsMs: readonly number[]; times: number }>;

/** Returns the duration of a wait, in ms. */
export function hasten(ms: number, { waitsMs, times }: Hastened): number {
  return waitsMs.includes(ms) ? ms / times : ms;
}

/** Shortens this process's waits until it is disposed of. */
export function hastenWaits(hastened: Hastened): Disposable {
  const wait = globalThis.setTimeout;
  const sooner = (callback: (...given: readonly unknown[]) => void, ms = 0, ...given: readonly unknown[]) =>
    wait(() => callback(...given), hasten(ms, hastened));
  globalThis.setTimeout = Object.assign(sooner, wait);
  return { [Symbol.dispose]: () => void (globalThis.setTimeout = wait) };
}

/**
 * Shortens a service's waits, and those for a SQLite file that another process has locked; returns the required
 * environment.
 */
export function hastenService({ waitsMs, times }: Hastened): Readonly<{ NODE_OPTIONS: string }> {
  const { href } = new URL("hastened-service.ts", import.meta.url);
  return { NODE_OPTIONS: `--import=${href}?waits=${waitsMs.join()}&times=${times}` };
}
