/** Waits that are over sooner than the product has it: those of these lengths, so many times. */
export type Hastened = Readonly<{ waitsMs: readonly number[]; times: number }>;

/** Returns the time that a wait takes, in ms. */
export function hasten(ms: number, { waitsMs, times }: Hastened): number {
  return waitsMs.includes(ms) ? ms / times : ms;
}

/** Has this process's waits end sooner, until it is disposed of. */
export function hastenWaits(hastened: Hastened): Disposable {
  const wait = globalThis.setTimeout;
  const sooner = (callback: (...given: readonly unknown[]) => void, ms = 0, ...given: readonly unknown[]) =>
    wait(() => callback(...given), hasten(ms, hastened));
  globalThis.setTimeout = Object.assign(sooner, wait);
  return { [Symbol.dispose]: () => void (globalThis.setTimeout = wait) };
}

/** Has a service's waits end sooner, and those for a SQLite file that another process has: what its environment needs for it. */
export function hastenService({ waitsMs, times }: Hastened): Readonly<{ NODE_OPTIONS: string }> {
  const { href } = new URL("hastened-service.ts", import.meta.url);
  return { NODE_OPTIONS: `--import=${href}?waits=${waitsMs.join()}&times=${times}` };
}
